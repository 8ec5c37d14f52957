//! Words for the person at the terminal, on standard error. That it is closed, or full, must end nothing: a
//! run is worth more than the account of it. Results go to standard output by
//! [`super::output::print_line`], whose failure is the command's.

/// Prints a line to standard error like `eprintln!`, but never panics.
macro_rules! notice {
    ($($words:tt)*) => {{
        use ::std::io::Write as _;
        let _ = ::std::writeln!(::std::io::stderr(), $($words)*);
    }};
}

pub(crate) use notice;
