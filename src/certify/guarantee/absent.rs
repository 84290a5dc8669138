//! Why nothing is guaranteed: as binding as the guarantees themselves.

/// Of chunks, where there is no calibration.
pub const NOT_CALIBRATED: &str = "not calibrated: no chunk can be certified";

/// Of a report that was made without a calibration.
pub const NO_CALIBRATION: &str = "Nothing is guaranteed: this report was made without a calibration.";

/// Of a report whose calibration brought no sentence.
pub const NOT_STATED: &str = "No guarantee is stated: the calibration came without one.";

/// Of flagged words, while no calibration covers them.
pub const FLAGS_WITHOUT_GUARANTEE: &str =
    "Flagged words are those a trained detector finds unsupported; no guarantee covers them yet.";

/// Of a report about the data that calibrated the highlighting.
pub const SAME_DATA: &str = "The highlighting was calibrated on the data of this run: its guarantee is about further \
                             sources, and the agreement with labels shown here is no check of it.";

/// What must be known before a calibration of the highlighting is believed.
pub const TRAINED_ON: &str = "the guarantee needs scores of a head that was not trained on these answers; scores of a \
                              head on its own training answers are too good, and the threshold they give misses more \
                              elsewhere";

/// Of how findings agree with the marks that a reader made.
pub const MARKS_ONLY: &str = "Agreement with these marks only, no guarantee";

/// Of a verdict about a data set that is too small.
pub const UNAVAILABLE: &str = "no guarantee possible";

/// Of chunks that another retriever than the calibrated one found.
#[must_use]
pub fn other_retriever(differences: &[String]) -> String {
    format!(
        "the calibration was made with another retriever, so its guarantee does not hold here: {}",
        differences.join("; ")
    )
}
