//! Pieces that several views draw with. None knows the model.

mod bars;
mod canvas;
mod chart;
mod heat_map;
mod marks_line;
mod p_value_bar;
mod score_strip;
mod slider;
mod span_text;

pub use bars::bars;
pub use canvas::{Canvas, width};
pub use chart::Chart;
pub use heat_map::{HeatMap, heat_cell};
pub use marks_line::marks_line;
pub use p_value_bar::{p_value_bar, share_bar};
pub use score_strip::{gold_line, score_strip};
pub use slider::{Slider, slider};
pub use span_text::{Line, Mark, Wrapped, wrap};
