//! A picture of a screen as PNG, without any program or font of the machine: the SVG that `ragscope::tui::svg`
//! writes is drawn with the letters of `DejaVu` Sans Mono.
//!
//! It reads the few elements that those pictures are made of, one to a line, and no other SVG.

use std::io::Write;

use ab_glyph::{Font, FontRef, PxScale, ScaleFont, point};

/// Pixels to a unit of the picture.
const SCALE: f32 = 2.0;

/// Pixels, row by row, red, green and blue.
pub struct Raster {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<[u8; 3]>,
}

impl Raster {
    /// Draws a picture.
    ///
    /// # Panics
    /// On an element that the pictures of screens do not have.
    pub fn of(svg: &str) -> Self {
        let root = svg.lines().next().expect("a picture has a first line");
        let size = |name| (number(root, name) * SCALE).round() as usize;
        let (width, height) = (size("width"), size("height"));
        let mut raster = Self { width, height, pixels: vec![[255; 3]; width * height] };
        let fonts = [dejavu::sans_mono::regular(), dejavu::sans_mono::bold()]
            .map(|bytes| FontRef::try_from_slice(bytes).expect("the font is one"));
        let group = svg.find("<g ").map_or("", |at| &svg[at..]);
        let font_size = number(group, "font-size");
        let elements =
            svg.lines().flat_map(|line| line.split_inclusive('>').filter(|part| part.contains('<')));
        let mut elements = elements.peekable();
        while let Some(element) = elements.next() {
            let name =
                element.trim_start().trim_start_matches('<').split([' ', '>']).next().unwrap_or_default();
            match name {
                "rect" => raster.rectangle(element),
                "circle" => raster.circle(element),
                "path" => raster.corner(element),
                "text" => {
                    let end = elements.next().unwrap_or_default();
                    let text = end.split("</text").next().unwrap_or_default();
                    let font = &fonts[usize::from(element.contains("font-weight"))];
                    raster.text(element, &unescaped(text), font, font_size);
                }
                "svg" | "g" | "title" | "style" => {}
                other if element.contains("</") || other.starts_with('/') => {}
                other => panic!("a picture of a screen has no element {other:?}"),
            }
        }
        raster
    }

    fn blend(&mut self, x: i64, y: i64, colour: [u8; 3], share: f32) {
        if x < 0 || y < 0 || x >= self.width as i64 || y >= self.height as i64 {
            return;
        }
        let pixel = &mut self.pixels[y as usize * self.width + x as usize];
        for (part, ink) in pixel.iter_mut().zip(colour) {
            *part = (f32::from(*part) * (1.0 - share) + f32::from(ink) * share).round() as u8;
        }
    }

    fn rectangle(&mut self, element: &str) {
        let opacity = attribute(element, "opacity").map_or(1.0, |value| value.parse().expect("a number"));
        let edge = |value: f32| (value * SCALE).round() as i64;
        let (x, y) = (optional(element, "x"), optional(element, "y"));
        let right = edge(x + number(element, "width"));
        let bottom = edge(y + number(element, "height"));
        let colour = fill(element).expect("a rectangle has a colour");
        for row in edge(y)..bottom.max(edge(y) + 1) {
            for column in edge(x)..right {
                self.blend(column, row, colour, opacity);
            }
        }
    }

    fn circle(&mut self, element: &str) {
        let (x, y, radius) = (number(element, "cx"), number(element, "cy"), number(element, "r"));
        let ring = hex(attribute(element, "stroke").expect("a knob has an edge"));
        let inside = fill(element);
        self.sampled(
            (x - radius - 1.0, y - radius - 1.0, x + radius + 1.0, y + radius + 1.0),
            |at, place| {
                let distance = ((place.0 - x).powi(2) + (place.1 - y).powi(2)).sqrt();
                if (distance - radius).abs() <= 0.5 {
                    *at = Some(ring);
                } else if distance < radius {
                    *at = inside;
                }
            },
        );
    }

    /// A rounded corner: a quadratic curve, one unit wide.
    fn corner(&mut self, element: &str) {
        let path = attribute(element, "d").expect("a corner has a path").replace(['M', 'Q'], " ");
        let points: Vec<f32> =
            path.split_whitespace().map(|value| value.parse().expect("a number")).collect();
        let [x0, y0, x1, y1, x2, y2] = points[..] else { panic!("{path:?} is no quadratic curve") };
        let colour = hex(attribute(element, "stroke").expect("a corner has a colour"));
        let curve = |t: f32| {
            let mix = |from: f32, by: f32, to: f32| {
                (1.0 - t).powi(2) * from + 2.0 * t * (1.0 - t) * by + t.powi(2) * to
            };
            (mix(x0, x1, x2), mix(y0, y1, y2))
        };
        let box_of = (x0.min(x2) - 1.0, y0.min(y2) - 1.0, x0.max(x2) + 1.0, y0.max(y2) + 1.0);
        self.sampled(box_of, |at, place| {
            let near = (0..=24)
                .map(|step| curve(step as f32 / 24.0))
                .any(|(x, y)| (place.0 - x).powi(2) + (place.1 - y).powi(2) <= 0.25);
            if near {
                *at = Some(colour);
            }
        });
    }

    /// Asks for the colour at four by four places of every pixel of an area.
    fn sampled(&mut self, area: (f32, f32, f32, f32), colour: impl Fn(&mut Option<[u8; 3]>, (f32, f32))) {
        let edge = |value: f32| (value * SCALE).round() as i64;
        for row in edge(area.1)..edge(area.3) {
            for column in edge(area.0)..edge(area.2) {
                let mut found: Vec<[u8; 3]> = Vec::new();
                for sample in 0..16 {
                    let inside = |cell: i64, part: i64| (cell as f32 + (part as f32 + 0.5) / 4.0) / SCALE;
                    let mut at = None;
                    colour(&mut at, (inside(column, sample % 4), inside(row, sample / 4)));
                    found.extend(at);
                }
                if let Some(first) = found.first() {
                    self.blend(column, row, *first, found.len() as f32 / 16.0);
                }
            }
        }
    }

    /// Letters, each at its own place where it has one, else after the one before it.
    fn text(&mut self, element: &str, text: &str, font: &FontRef<'_>, size: f32) {
        let colour = fill(element).expect("text has a colour");
        let baseline = number(element, "y") * SCALE;
        let places = attribute(element, "x").expect("text has a place");
        let mut places =
            places.split_whitespace().map(|place| place.parse::<f32>().expect("a number") * SCALE);
        let units = font.units_per_em().expect("the font has a size");
        let scale = PxScale::from(size * SCALE * font.height_unscaled() / units);
        let mut pen = 0.0;
        for letter in text.chars() {
            let id = font.glyph_id(letter);
            pen = places.next().unwrap_or(pen);
            let glyph = id.with_scale_and_position(scale, point(pen, baseline));
            pen += font.as_scaled(scale).h_advance(id);
            let Some(outline) = font.outline_glyph(glyph) else { continue };
            let corner = outline.px_bounds().min;
            outline.draw(|x, y, share| {
                self.blend(
                    corner.x as i64 + i64::from(x),
                    corner.y as i64 + i64::from(y),
                    colour,
                    share.min(1.0),
                );
            });
        }
    }

    /// The file.
    pub fn png(&self) -> Vec<u8> {
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut header = Vec::new();
        header.extend((self.width as u32).to_be_bytes());
        header.extend((self.height as u32).to_be_bytes());
        // Eight bits each of red, green and blue; no interlacing.
        header.extend([8, 2, 0, 0, 0]);
        chunk(&mut file, b"IHDR", &header);
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        let mut above = vec![0_u8; self.width * 3];
        for line in self.pixels.chunks(self.width) {
            let line: Vec<u8> = line.iter().flatten().copied().collect();
            // Filter 2: what differs from the line above, which is mostly nothing.
            let differs: Vec<u8> =
                line.iter().zip(&above).map(|(own, above)| own.wrapping_sub(*above)).collect();
            packed.write_all(&[2]).and_then(|()| packed.write_all(&differs)).expect("memory takes it");
            above = line;
        }
        chunk(&mut file, b"IDAT", &packed.finish().expect("memory takes it"));
        chunk(&mut file, b"IEND", &[]);
        file
    }
}

fn chunk(file: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    file.extend((content.len() as u32).to_be_bytes());
    let start = file.len();
    file.extend(name);
    file.extend(content);
    let mut sum = flate2::Crc::new();
    sum.update(&file[start..]);
    file.extend(sum.sum().to_be_bytes());
}

fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let start = element.find(&format!(" {name}=\""))? + name.len() + 3;
    Some(&element[start..start + element[start..].find('"')?])
}

fn number(element: &str, name: &str) -> f32 {
    let value = attribute(element, name).unwrap_or_else(|| panic!("{name} is missing in {element}"));
    value.parse().expect("a number")
}

fn optional(element: &str, name: &str) -> f32 {
    attribute(element, name).map_or(0.0, |value| value.parse().expect("a number"))
}

fn fill(element: &str) -> Option<[u8; 3]> {
    attribute(element, "fill").filter(|fill| *fill != "none").map(hex)
}

fn hex(colour: &str) -> [u8; 3] {
    let part = |at: usize| u8::from_str_radix(&colour[at..at + 2], 16).expect("two digits");
    [part(1), part(3), part(5)]
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}
