//! PNG files of pictures in memory: 8 bits of red, green, blue and alpha a pixel, rows from the top.

use std::io::Cursor;

use png::{BitDepth, ColorType, Compression, Decoder, Encoder, EncodingError, Filter, Transformations};

pub fn encode(rgba: &[u8], [width, height]: [u32; 2]) -> Result<Vec<u8>, EncodingError> {
    let mut bytes = vec![];
    let mut encoder = Encoder::new(&mut bytes, width, height);
    encoder.set_color(ColorType::Rgba);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Fast);
    encoder.set_filter(Filter::Adaptive);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(rgba)?;
    writer.finish()?;
    Ok(bytes)
}

/// Decodes a PNG file in colour to RGBA pixels, with its width and height; `None` if the bytes are not such a file.
pub fn decode(bytes: &[u8]) -> Option<(Vec<u8>, [u32; 2])> {
    let mut decoder = Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(Transformations::normalize_to_color8() | Transformations::ALPHA);
    let mut reader = decoder.read_info().ok()?;
    let mut rgba = vec![0; reader.output_buffer_size()?];
    let frame = reader.next_frame(&mut rgba).ok()?;
    (frame.color_type == ColorType::Rgba).then_some((rgba, [frame.width, frame.height]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_png_is_decoded_unchanged() {
        let rgba: Vec<u8> = (0..7 * 5 * 4).map(|i| (i * 37 % 251) as u8).collect();
        let file = encode(&rgba, [7, 5]).unwrap();
        assert_eq!(decode(&file), Some((rgba.clone(), [7, 5])));
        assert_eq!(decode(&file[..20]), None);
        assert!(encode(&rgba, [0, 5]).is_err() && encode(&rgba, [7, 6]).is_err());
    }
}
