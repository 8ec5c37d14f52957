//! The ledger of claims: each claim of the papers, the rule by which runs decide it, and what they said.
//!
//! Data flow:
//!
//! 1. `claims/PAPER.toml` holds a paper's claims ([`claim`]): quote or a sentence of ours, place, number, tier, and a rule, or
//!    why there is none.
//! 2. A rule names a preset, settings, steps, seeds, the number to read, a statistic and the region in which the claim
//!    stands ([`rule`]). It is checked against the labs, and its canonical text is hashed.
//! 3. A rule makes a [`SweepFile`](super::sweep::SweepFile) ([`rule`]); rules that ask for the same runs share its folder.
//! 4. From each run that has ended one number is read, or two: headline numbers, or what a probe answers ([`result`]).
//! 5. The statistic makes one value of each seed, and of all seeds an effect, an interval and p values ([`statistics`]).
//! 6. All rules of a paper are one family for Holm's correction, run or not, so that no result changes its size ([`ledger`]).
//! 7. `claims/results/ID.json` keeps numbers with their digest, hash, terms, machine, effect and verdict; what is not in it is not
//!    judged.
//! 8. Of rules that read numbers along a run it keeps the values of the seeds over steps too ([`curve`]).
//! 9. The verdict is made again from these numbers whenever it is shown; `orrery claims check` compares ([`ledger`]). A claim that
//!    its runs do not test cannot be told, whatever their numbers give.
//! 10. `claims/replications/ID.json` is a result of the same rule with other seeds. It moves no verdict, and is shown beside the
//!     first one ([`replication`]).
//! 11. Tables, JSON and the pages `docs/claims.md` and `docs/results.md` are made from the ledger ([`table`]), and the rows of the
//!     page in the window ([`entry`]), which it filters ([`filter`]).

pub mod claim;
pub mod criterion;
pub mod curve;
pub mod entry;
pub mod filter;
pub mod ledger;
pub mod replication;
pub mod result;
mod results_page;
pub mod rule;
#[cfg(test)]
mod small_ledger;
pub mod statistics;
pub mod table;
