//! Lists the claims and their results for the library, which holds their texts.

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let claims = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../claims").canonicalize()?;
    // the folder with all that is in it
    println!("cargo::rerun-if-changed={}", claims.display());
    let mut code = String::new();
    for (name, folder, ending) in [
        ("PAPERS", claims.clone(), "toml"),
        ("RESULTS", claims.join("results"), "json"),
        ("REPLICATIONS", claims.join("replications"), "json"),
    ] {
        let mut files: Vec<_> = match fs::read_dir(&folder) {
            Ok(entries) => entries.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?,
            Err(_) => vec![],
        };
        files.retain(|path| path.extension().is_some_and(|e| e == ending));
        files.sort();
        code += &format!("static {name}: &[(&str, &str)] = &[\n");
        for path in files {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            code += &format!("    ({stem:?}, include_str!({:?})),\n", path.display().to_string());
        }
        code += "];\n";
    }
    Ok(fs::write(Path::new(&env::var("OUT_DIR")?).join("claims.rs"), code)?)
}
