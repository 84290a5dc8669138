//! What the palette offers for a query.

use super::fuzzy::fuzzy;
use super::{ACTIONS, Context, Entry, availability, context_below};
use crate::tui::model::Model;

/// An action that the palette offers.
#[derive(Debug, Clone)]
pub struct Offer {
    pub entry: &'static Entry,
    /// Characters of its help that the query matched.
    pub matched: Vec<usize>,
    /// Why it does nothing now, where it does nothing.
    pub unavailable: Option<String>,
}

/// Actions of the panes, of the open page and of anywhere that match, the best first; without a query those
/// of the pane or page that has the keys, then those of anywhere, then the other panes'.
pub fn offers(model: &Model, query: &str) -> Vec<Offer> {
    let here = context_below(model);
    let nearness = |context: Context| match context {
        context if context == here => 0,
        Context::Anywhere => 1,
        _ => 2,
    };
    let mut found: Vec<(i32, Offer)> = ACTIONS
        .iter()
        .filter(|entry| match entry.context {
            Context::Anywhere | Context::Pane(_) => true,
            context => context == here,
        })
        .filter_map(|entry| {
            let by_help = fuzzy(query, entry.help);
            let by_name = fuzzy(query, entry.name);
            let title = format!("{} {}", super::context_title(entry.context), entry.help);
            let by_title = fuzzy(query, &title).map(|found| found.score - 3);
            let score =
                [by_help.as_ref().map(|found| found.score), by_name.map(|found| found.score), by_title];
            let score = score.into_iter().flatten().max()?;
            let matched = by_help.unwrap_or_default().characters;
            let unavailable = availability(entry.command, entry.context, model).err();
            Some((score, Offer { entry, matched, unavailable }))
        })
        .collect();
    // What only has the letters somewhere is noise beside what has the word.
    let best = found.iter().map(|(score, _)| *score).max().unwrap_or(0);
    found.retain(|(score, _)| score * 2 >= best);
    // Stable: equals stay in the table's order.
    found.sort_by_key(|(score, offer)| (-score, nearness(offer.entry.context)));
    found.into_iter().map(|(_, offer)| offer).collect()
}
