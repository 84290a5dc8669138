//! Reciprocal-rank fusion: several rankings, one score that needs no common scale.

use std::collections::BTreeMap;

use super::{Hit, Ranker, Ranking, RetrievalError, RetrievalState, best};

/// Every ranking gives a chunk 1 / (60 + rank), ranks from 1; the score is the sum (Cormack, Clarke and Buettcher,
/// SIGIR 2009, whose 60 this is).
///
/// The score is a function of ranks alone, so few values occur and chunks tie often; ties keep stored order.
pub struct Fusion {
    rankers: Vec<Box<dyn Ranker>>,
}

const OFFSET: f64 = 60.0;
/// Ranks of each ranking that count; a chunk beyond it in one ranking gets nothing from that one. It does not depend on
/// k, so that the top k is the start of the top k + m.
const DEPTH: usize = 1000;

impl Fusion {
    #[must_use]
    pub fn new(rankers: Vec<Box<dyn Ranker>>) -> Self {
        Self { rankers }
    }
}

impl Ranker for Fusion {
    fn rank(&self, question: &str, k: usize) -> Result<Ranking, RetrievalError> {
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        let mut state = RetrievalState::NoSearchableWords;
        for ranker in &self.rankers {
            let ranking = ranker.rank(question, DEPTH)?;
            if ranking.state == RetrievalState::Found {
                state = RetrievalState::Found;
            }
            for (above, hit) in ranking.hits.iter().enumerate() {
                *scores.entry(hit.chunk).or_insert(0.0) += 1.0 / (OFFSET + (above + 1) as f64);
            }
        }
        let hits = scores.into_iter().map(|(chunk, score)| Hit { chunk, score }).collect();
        Ok(Ranking { hits: best(hits, k), state })
    }

    fn name(&self) -> &'static str {
        "fusion"
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let names: Vec<&str> = self.rankers.iter().map(|ranker| ranker.name()).collect();
        let mut settings: BTreeMap<String, String> = self
            .rankers
            .iter()
            .flat_map(|ranker| {
                let name = ranker.name().to_owned();
                ranker.settings().into_iter().map(move |(key, value)| (format!("{name}: {key}"), value))
            })
            .collect();
        settings.insert("fused".to_owned(), names.join(", "));
        settings.insert("fusion".to_owned(), format!("reciprocal rank, {OFFSET}, depth {DEPTH}"));
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks chunks in a fixed order.
    struct Fixed(&'static str, Vec<usize>);

    impl Ranker for Fixed {
        fn rank(&self, question: &str, k: usize) -> Result<Ranking, RetrievalError> {
            if question.is_empty() {
                return Ok(Ranking { hits: Vec::new(), state: RetrievalState::NoSearchableWords });
            }
            let hit = |(above, chunk): (usize, &usize)| Hit { chunk: *chunk, score: -(above as f64) };
            let hits = self.1.iter().take(k).enumerate().map(hit).collect();
            Ok(Ranking { hits, state: RetrievalState::Found })
        }

        fn name(&self) -> &'static str {
            self.0
        }

        fn settings(&self) -> BTreeMap<String, String> {
            BTreeMap::from([("k1".to_owned(), self.1.len().to_string())])
        }
    }

    fn fused(k: usize) -> Vec<(usize, f64)> {
        let rankers: Vec<Box<dyn Ranker>> =
            vec![Box::new(Fixed("first", vec![4, 1, 2])), Box::new(Fixed("second", vec![2, 0, 4, 7]))];
        let ranking = Fusion::new(rankers).rank("q", k).unwrap();
        ranking.hits.into_iter().map(|hit| (hit.chunk, hit.score)).collect()
    }

    #[test]
    fn a_chunk_gets_one_over_sixty_and_its_rank_from_every_ranking() {
        let at = |ranks: &[f64]| ranks.iter().map(|rank| 1.0 / (60.0 + rank)).sum::<f64>();
        // 4 and 2 tie at ranks 1 and 3, and so do 1 and 0 at rank 2: stored order decides.
        assert_eq!(
            fused(10),
            [(2, at(&[3.0, 1.0])), (4, at(&[1.0, 3.0])), (0, at(&[2.0])), (1, at(&[2.0])), (7, at(&[4.0]))]
        );
        for k in 0..5 {
            assert_eq!(fused(k), fused(10)[..k]);
        }
    }

    #[test]
    fn settings_name_what_was_fused_and_the_settings_of_each() {
        let rankers: Vec<Box<dyn Ranker>> =
            vec![Box::new(Fixed("first", vec![1])), Box::new(Fixed("second", vec![2, 3]))];
        let fusion = Fusion::new(rankers);
        let settings = fusion.settings();
        assert_eq!(settings["fused"], "first, second");
        assert_eq!((&*settings["first: k1"], &*settings["second: k1"]), ("1", "2"));
        assert_eq!(fusion.rank("", 3).unwrap().state, RetrievalState::NoSearchableWords);
    }
}
