//! Files as a careful program opens and writes them. What is read comes from others: it may be a pipe, a
//! device, a link, longer than memory, or cut while it is read. What is written is whole or not there. Of
//! formats it reads one alone, Python's pickle, which weights and vocabularies share.

pub mod fingerprint;
pub mod folders;
pub mod memory;
pub mod opening;
pub mod pickle;
pub mod replacement;
pub mod watched;

pub use fingerprint::{Fingerprint, fingerprint, sha256};
pub use folders::{
    all_entries, check_folders, create_new_inside, entries, make_folders, remove_file_inside, remove_folder_inside,
    rename_inside,
};
pub use memory::{TooMuchMemory, available_memory, check_memory, reading_budget};
pub use opening::{
    FileError, check_inside_to_write, create_inside, folder_inside, make_folder_inside, open, open_inside,
    open_inside_to_write, read, read_all, read_end_inside, read_inside, read_text, read_text_inside,
};
pub use replacement::{Replacement, check_replaceable, folder_beside, folder_of, replace, sync_folder, try_writing};
pub use watched::WatchedFile;
