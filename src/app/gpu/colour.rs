//! Colour maps as tables of 256 colours: three sequential ones that are perceptually uniform, and a diverging one.
//! viridis and magma are van der Walt and Smith's (CC0), cividis is Nunez, Anderton and Renslow's (CC0).

use std::sync::OnceLock;

use eframe::egui::Color32;

pub const ENTRIES: usize = 256;

/// The colours of a map as sRGB bytes, from the low end to the high one.
pub type ColourTable = [[u8; 3]; ENTRIES];

/// A map from values between 0 and 1 to colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ColourMap {
    #[default]
    Viridis,
    Magma,
    /// Reads the same with and without red-green colour vision.
    Cividis,
    /// Cool below the middle and warm above it; the middle has the tone of the background, dark or light.
    Diverging {
        dark: bool,
    },
}

impl ColourMap {
    pub fn name(self) -> &'static str {
        match self {
            Self::Viridis => "viridis",
            Self::Magma => "magma",
            Self::Cividis => "cividis",
            Self::Diverging { .. } => "cool to warm",
        }
    }

    pub fn table(self) -> &'static ColourTable {
        static COLOUR_TABLES: [OnceLock<ColourTable>; 5] = [const { OnceLock::new() }; 5];
        COLOUR_TABLES[self.layer() as usize].get_or_init(|| match self {
            Self::Viridis => read(include_str!("../../../assets/colour_maps/viridis.hex")),
            Self::Magma => read(include_str!("../../../assets/colour_maps/magma.hex")),
            Self::Cividis => read(include_str!("../../../assets/colour_maps/cividis.hex")),
            Self::Diverging { dark: true } => diverging([0x6f, 0xa8, 0xf5], [0x1a, 0x20, 0x29], [0xf0, 0x8a, 0x5d]),
            Self::Diverging { dark: false } => diverging([0x2a, 0x62, 0xb8], [0xf7, 0xf5, 0xf0], [0xb8, 0x4a, 0x1f]),
        })
    }

    /// Colour at `t` in 0..=1 (outside: the nearer end; NaN: the low end).
    pub fn at(self, t: f32) -> [u8; 3] {
        self.table()[(t.clamp(0.0, 1.0) * (ENTRIES - 1) as f32).round() as usize]
    }

    /// [`ColourMap::at`] as a colour of a picture.
    pub fn colour(self, t: f32) -> Color32 {
        let [r, g, b] = self.at(t);
        Color32::from_rgb(r, g, b)
    }

    /// Index of the map's table in a stack of all tables.
    pub(super) fn layer(self) -> u32 {
        Self::STACK.iter().position(|map| *map == self).unwrap_or_default() as u32
    }

    pub(super) const STACK: [Self; 5] =
        [Self::Viridis, Self::Magma, Self::Cividis, Self::Diverging { dark: true }, Self::Diverging { dark: false }];
}

/// An opaque colour as shaders take it.
pub(super) fn opaque(rgb: [u8; 3]) -> [f32; 4] {
    let [r, g, b] = rgb.map(|v| f32::from(v) / 255.0);
    [r, g, b, 1.0]
}

/// Lines of `rrggbb`. A line that is not one stays black; a test holds the files to 256 good lines.
fn read(text: &str) -> ColourTable {
    let mut table = [[0; 3]; ENTRIES];
    for (entry, line) in table.iter_mut().zip(text.lines()) {
        if let Ok(rgb) = u32::from_str_radix(line.trim(), 16) {
            *entry = [(rgb >> 16) as u8, (rgb >> 8) as u8, rgb as u8];
        }
    }
    table
}

/// Straight lines in Oklab from one end over the middle to the other (Ottosson 2020).
fn diverging(low: [u8; 3], middle: [u8; 3], high: [u8; 3]) -> ColourTable {
    let [low, middle, high] = [low, middle, high].map(oklab);
    std::array::from_fn(|i| {
        let t = i as f32 / (ENTRIES - 1) as f32 * 2.0 - 1.0;
        let end = if t < 0.0 { low } else { high };
        from_oklab(std::array::from_fn(|c| middle[c] + (end[c] - middle[c]) * t.abs()))
    })
}

fn oklab(rgb: [u8; 3]) -> [f32; 3] {
    let [r, g, b] = rgb.map(|v| {
        let v = v as f32 / 255.0;
        if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
    });
    let l = (0.412_221_46 * r + 0.536_332_55 * g + 0.051_445_995 * b).cbrt();
    let m = (0.211_903_5 * r + 0.680_699_5 * g + 0.107_396_96 * b).cbrt();
    let s = (0.088_302_46 * r + 0.281_718_85 * g + 0.629_978_7 * b).cbrt();
    [
        0.210_454_26 * l + 0.793_617_8 * m - 0.004_072_047 * s,
        1.977_998_5 * l - 2.428_592_2 * m + 0.450_593_7 * s,
        0.025_904_037 * l + 0.782_771_77 * m - 0.808_675_77 * s,
    ]
}

fn from_oklab([lightness, a, b]: [f32; 3]) -> [u8; 3] {
    let l = (lightness + 0.396_337_78 * a + 0.215_803_76 * b).powi(3);
    let m = (lightness - 0.105_561_346 * a - 0.063_854_17 * b).powi(3);
    let s = (lightness - 0.089_484_18 * a - 1.291_485_5 * b).powi(3);
    let linear = [
        4.076_741_7 * l - 3.307_711_6 * m + 0.230_969_94 * s,
        -1.268_438 * l + 2.609_757_4 * m - 0.341_319_38 * s,
        -0.004_196_086_3 * l - 0.703_418_6 * m + 1.707_614_7 * s,
    ];
    linear.map(|v| {
        let v = v.clamp(0.0, 1.0);
        let v = if v <= 0.003_130_8 { v * 12.92 } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 };
        (v * 255.0).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_whole_and_their_lightness_rises() {
        for text in [
            include_str!("../../../assets/colour_maps/viridis.hex"),
            include_str!("../../../assets/colour_maps/magma.hex"),
            include_str!("../../../assets/colour_maps/cividis.hex"),
        ] {
            assert_eq!(text.lines().filter(|l| l.len() == 6 && u32::from_str_radix(l, 16).is_ok()).count(), ENTRIES);
        }
        for map in [ColourMap::Viridis, ColourMap::Magma, ColourMap::Cividis] {
            let lightness: Vec<f32> = map.table().iter().map(|c| oklab(*c)[0]).collect();
            for pair in lightness.windows(8) {
                assert!(pair[7] > pair[0], "{} is not uniform", map.name());
            }
        }
    }

    #[test]
    fn the_diverging_map_is_centred_and_warm_is_above() {
        for dark in [true, false] {
            let map = ColourMap::Diverging { dark };
            let (low, high) = (map.at(0.0), map.at(1.0));
            assert!(low[2] > low[0] && high[0] > high[2], "cool is bluish, warm is reddish");
            let middle = oklab(map.at(0.5));
            assert!(middle[1].abs() < 0.02 && middle[2].abs() < 0.02, "the middle has no hue");
            assert_eq!(dark, middle[0] < 0.5);
        }
    }

    #[test]
    fn oklab_and_back_is_the_same_colour() {
        for rgb in [[0, 0, 0], [255, 255, 255], [0x6f, 0xa8, 0xf5], [0xf0, 0x8a, 0x5d]] {
            assert_eq!(from_oklab(oklab(rgb)), rgb);
        }
    }
}
