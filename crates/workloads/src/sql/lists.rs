//! Values with weights, to draw from.
use crate::rng::Random;
use crate::trouble::refuse;
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::sql::{List, TextFile};

#[derive(Clone, Debug)]
pub struct Weighted {
    values: Vec<String>,
    /// Sums of weights, each with those before it.
    sums: Vec<f64>,
}

impl Weighted {
    pub fn new(name: &str, list: &List) -> Result<Self, Trouble> {
        let found = match &list.file {
            Some(file) => from_file(file)?,
            None => list
                .values
                .iter()
                .map(|(value, weight)| (value.clone(), *weight))
                .collect(),
        };
        let mut sum = 0.0;
        let mut made = Self {
            values: vec![],
            sums: vec![],
        };
        for (value, weight) in found {
            if !weight.is_finite() || weight < 0.0 {
                let what = format!("`lists` `{name}` gives {value:?} the weight {weight}");
                return Err(refuse("lists", what, "a weight is a number from 0"));
            }
            if weight > 0.0 {
                sum += weight;
                made.values.push(value);
                made.sums.push(sum);
            }
        }
        if made.values.is_empty() {
            let what = format!("`lists` `{name}` has nothing to draw");
            return Err(refuse("lists", what, "give at least one value a weight above 0"));
        }
        Ok(made)
    }

    /// About 10 ns, and the logarithm of the list's length.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> &str {
        let at = random.unit() * self.sums.last().copied().unwrap_or_default();
        let place = self.sums.partition_point(|sum| *sum <= at);
        let last = self.values.len().saturating_sub(1);
        self.values.get(place.min(last)).map_or("", String::as_str)
    }
}

/// A value a line; its weight after the last tab or comma, or 1 where there is neither.
fn from_file(file: &TextFile) -> Result<Vec<(String, f64)>, Trouble> {
    let mut found = vec![];
    for (index, line) in file.text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let Some((value, weight)) = line.rsplit_once(['\t', ',']) else {
            found.push((line.trim().to_owned(), 1.0));
            continue;
        };
        let Ok(weight) = weight.trim().parse() else {
            let what = format!(
                "{}, line {}: the weight of {value:?} cannot be {:?}",
                file.name,
                index + 1,
                weight.trim()
            );
            return Err(refuse(
                "lists",
                what,
                "a line is a value, a tab or a comma, and a number",
            ));
        };
        found.push((value.trim().to_owned(), weight));
    }
    Ok(found)
}

// Text of a length, of letters and digits, which a compressing system can make smaller by as much as is asked.

const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789";
/// Of one draw, six bits each.
const LETTERS_A_DRAW: usize = 10;

/// Appends `length` characters: the share `redundancy` of them is one letter again and again, at the end. About 1 ns a
/// character.
pub fn push_text(length: usize, redundancy: f64, random: &mut Random, text: &mut Vec<u8>) {
    let same = (length as f64 * redundancy) as usize;
    let drawn_end = text.len() + length - same;
    while text.len() < drawn_end {
        let mut bits = random.bits();
        for _ in 0..LETTERS_A_DRAW.min(drawn_end - text.len()) {
            text.push(LETTERS[(bits & 63) as usize]);
            bits >>= 6;
        }
    }
    text.resize(drawn_end + same, b'x');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_text(text: &str) -> Result<Weighted, Trouble> {
        let file = Some(TextFile {
            name: "regions.txt".into(),
            text: text.into(),
        });
        Weighted::new(
            "regions",
            &List {
                file,
                ..List::default()
            },
        )
    }

    #[test]
    fn values_are_drawn_by_their_weights() {
        let list = of_text("north\t3\n\nsouth, by the sea,1\nnever,0\n").unwrap();
        let mut random = Random::new(1);
        let mut north = 0;
        for _ in 0..10_000 {
            match list.draw(&mut random) {
                "north" => north += 1,
                other => assert_eq!(other, "south, by the sea"),
            }
        }
        assert!((7300..7700).contains(&north), "{north}");
        assert_eq!(of_text("one\n").unwrap().draw(&mut random), "one");
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_line() {
        let what = |text| of_text(text).unwrap_err().what;
        assert_eq!(
            what("a,1\nb,x\n"),
            "regions.txt, line 2: the weight of \"b\" cannot be \"x\""
        );
        assert_eq!(what("a,-1"), "`lists` `regions` gives \"a\" the weight -1");
        assert_eq!(what(" \n"), "`lists` `regions` has nothing to draw");
        assert_eq!(what("a,0"), "`lists` `regions` has nothing to draw");
    }

    #[test]
    fn a_share_of_it_is_the_same_letter() {
        let mut text = b"kept".to_vec();
        push_text(100, 0.75, &mut Random::new(1), &mut text);
        assert_eq!(text.len(), 104);
        assert_eq!(&text[..4], b"kept");
        assert!(text[29..].iter().all(|letter| *letter == b'x'));
        assert!(text[4..29].iter().any(|letter| *letter != b'x'));
    }

    #[test]
    fn every_letter_is_drawn() {
        let mut text = vec![];
        push_text(20_000, 0.0, &mut Random::new(1), &mut text);
        assert!(LETTERS.iter().all(|letter| text.contains(letter)));
    }
}
