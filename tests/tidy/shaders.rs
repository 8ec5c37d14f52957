//! Every shader validates without a GPU, and has the name of the pipeline file that uses it.

use std::{fs, path::Path};

use naga::valid::{Capabilities, ValidationFlags, Validator};

#[test]
fn every_shader_validates_and_belongs_to_a_pipeline() {
    let root = &Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    for entry in fs::read_dir(root.join("shaders")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "wgsl") {
            continue;
        }
        seen += 1;
        let source = fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let module = naga::front::wgsl::parse_str(&source).unwrap_or_else(|e| panic!("{}", e.emit_to_string(&source)));
        if let Err(e) = Validator::new(ValidationFlags::all(), Capabilities::default()).validate(&module) {
            panic!("{}", e.emit_to_string(&source));
        }
        assert!(root.join(format!("src/app/gpu/{name}.rs")).exists(), "{name}.wgsl has no src/app/gpu/{name}.rs");
    }
    assert!(seen > 0);
}
