//! What a log has captured: statements in the order of their times, and which session each belongs to.
use super::allowed::is_sent;
use super::digest::digest;
use crate::statement_kind::{Kind, begins_with};
use std::collections::HashMap;

#[derive(Debug, Default)]
pub struct Capture {
    /// The texts of all statements, one after the other.
    text: String,
    pub statements: Vec<Captured>,
    pub sessions: Vec<Session>,
    /// Statements of one form, which differ in their numbers and texts alone.
    pub forms: Vec<Form>,
    /// Statements that are not sent.
    pub left_out: u64,
    /// One of them.
    pub left_out_first: String,
    /// The log ends within a statement, which is not sent.
    pub cut_off: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Captured {
    start: usize,
    bytes: u32,
    /// After the log's first statement.
    pub at_us: u64,
    pub form: u32,
    /// Rows that it answered with or changed, where the log tells.
    pub rows: Option<u64>,
    /// It was answered with an error.
    pub failed: bool,
}

#[derive(Debug, Default)]
pub struct Session {
    /// Places in `statements`.
    pub statements: Vec<u32>,
}

#[derive(Debug)]
pub struct Form {
    pub text: String,
    pub kind: Kind,
    pub count: u64,
}

impl Form {
    /// As far as its first word tells: functions may do more.
    pub fn only_asks(&self) -> bool {
        begins_with(&self.text, &["select", "show", "describe", "desc"])
    }
}

impl Capture {
    pub fn sql(&self, captured: &Captured) -> &str {
        &self.text[captured.start..captured.start + captured.bytes as usize]
    }

    /// From its first statement to its last.
    pub fn lasts_us(&self) -> u64 {
        self.statements.last().map_or(0, |last| last.at_us)
    }

    fn first_us(&self, session: usize) -> u64 {
        self.at_us(self.sessions[session].statements.first())
    }

    fn last_us(&self, session: usize) -> u64 {
        self.at_us(self.sessions[session].statements.last())
    }

    fn at_us(&self, place: Option<&u32>) -> u64 {
        place.map_or(0, |place| self.statements[*place as usize].at_us)
    }

    /// Most sessions that have statements before and after a moment.
    pub fn sessions_at_once(&self) -> u64 {
        let mut changes: Vec<(u64, i64)> = vec![];
        for session in 0..self.sessions.len() {
            changes.push((self.first_us(session), -1));
            changes.push((self.last_us(session), 1));
        }
        // Of one moment those that begin come first.
        changes.sort_unstable();
        let (mut now, mut most) = (0i64, 0);
        for (_, change) in changes {
            now -= change;
            most = most.max(now);
        }
        most as u64
    }

    /// Which sessions each of `users` replays, one after the other: a session goes to the user who has been free for longest.
    pub fn dealt(&self, users: u64) -> Vec<Vec<u32>> {
        let mut order: Vec<u32> = (0..self.sessions.len() as u32).collect();
        order.sort_by_key(|session| self.first_us(*session as usize));
        let mut dealt = vec![vec![]; users as usize];
        let mut free: std::collections::BinaryHeap<_> = (0..users as usize)
            .map(|user| std::cmp::Reverse((0, user)))
            .collect();
        for session in order {
            if let Some(std::cmp::Reverse((_, user))) = free.pop() {
                dealt[user].push(session);
                free.push(std::cmp::Reverse((self.last_us(session as usize) + 1, user)));
            }
        }
        dealt
    }
}

/// Puts a capture together from what a log says, line by line.
#[derive(Default)]
pub struct Builder {
    made: Capture,
    /// Every statement of the log is sent.
    unchecked: bool,
    /// A text in double quotes is a name.
    quotes_names: bool,
    /// The log's session, by its own number: its place among `sessions`.
    open: HashMap<u64, usize>,
    /// By its text; none: it is not sent.
    forms: HashMap<String, Option<u32>>,
    first_us: Option<u64>,
}

impl Builder {
    pub fn new(unchecked: bool, quotes_names: bool) -> Self {
        Self {
            unchecked,
            quotes_names,
            ..Self::default()
        }
    }

    /// `at_us`: after any moment, the same for all.
    pub fn statement(&mut self, session: u64, at_us: u64, sql: &str, rows: Option<u64>) {
        let sql = sql.trim().trim_end_matches(';').trim_end();
        if sql.is_empty() {
            return;
        }
        let Some(form) = self.form(sql) else {
            self.made.left_out += 1;
            if self.made.left_out == 1 {
                let words: Vec<&str> = sql.split_whitespace().take(60).collect();
                self.made.left_out_first = words.join(" ").chars().take(60).collect();
            }
            return;
        };
        let made = &mut self.made;
        let place = *self.open.entry(session).or_insert_with(|| {
            made.sessions.push(Session::default());
            made.sessions.len() - 1
        });
        made.forms[form as usize].count += 1;
        let first_us = *self.first_us.get_or_insert(at_us);
        made.sessions[place].statements.push(made.statements.len() as u32);
        made.statements.push(Captured {
            start: made.text.len(),
            bytes: sql.len() as u32,
            at_us: at_us.saturating_sub(first_us),
            form,
            rows,
            failed: false,
        });
        made.text.push_str(sql);
    }

    fn form(&mut self, sql: &str) -> Option<u32> {
        let text = digest(sql, self.quotes_names);
        if let Some(known) = self.forms.get(&text) {
            return *known;
        }
        let kind = Kind::of(sql);
        let forms = &mut self.made.forms;
        let form = (self.unchecked || is_sent(&text, kind)).then_some(forms.len() as u32);
        self.forms.insert(text.clone(), form);
        if form.is_some() {
            forms.push(Form { text, kind, count: 0 });
        }
        form
    }

    /// The last statement of a session was answered with an error.
    pub fn failed(&mut self, session: u64) {
        let last = self
            .open
            .get(&session)
            .and_then(|place| self.made.sessions[*place].statements.last());
        if let Some(last) = last {
            self.made.statements[*last as usize].failed = true;
        }
    }

    /// The log ends within a statement.
    pub fn cut_off(&mut self) {
        self.made.cut_off = true;
    }

    /// Its number may be another session's from now on.
    pub fn end(&mut self, session: u64) {
        self.open.remove(&session);
    }

    /// `resolution_us`: how coarse the log's times are. Statements of one moment are spread over it evenly, in their order.
    pub fn finish(mut self, resolution_us: u64) -> Capture {
        let all = &mut self.made.statements;
        // A slow log has them in the order of their ends.
        let mut latest = 0;
        let mut begin = 0;
        while begin < all.len() {
            let at_us = all[begin].at_us.max(latest);
            let same = all[begin..].iter().take_while(|one| one.at_us <= at_us).count();
            for (i, one) in all[begin..begin + same].iter_mut().enumerate() {
                one.at_us = at_us + resolution_us * i as u64 / same as u64;
            }
            latest = at_us;
            begin += same;
        }
        self.made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_keep_their_statements_and_their_order() {
        let mut builder = Builder::default();
        builder.statement(7, 5_000_000, "SELECT 1;", Some(1));
        builder.statement(8, 6_000_000, "BEGIN", None);
        builder.statement(7, 7_000_000, "select  2", None);
        builder.failed(7);
        builder.end(7);
        builder.statement(7, 9_000_000, "SELECT 'x'", None);
        builder.statement(8, 9_500_000, " ; ", None);
        let capture = builder.finish(0);
        let sessions: Vec<_> = capture.sessions.iter().map(|s| s.statements.clone()).collect();
        assert_eq!(sessions, [vec![0, 2], vec![1], vec![3]]);
        assert_eq!(
            capture.statements.iter().map(|s| s.at_us).collect::<Vec<_>>(),
            [0, 1_000_000, 2_000_000, 4_000_000]
        );
        assert_eq!(capture.sql(&capture.statements[2]), "select  2");
        assert!(capture.statements[2].failed && !capture.statements[0].failed);
        assert_eq!(
            capture.forms.iter().map(|f| f.count).collect::<Vec<_>>(),
            [2, 1, 1]
        );
        assert_eq!(capture.sessions_at_once(), 2);
        assert_eq!(capture.dealt(1), [vec![0, 1, 2]]);
        assert_eq!(capture.dealt(2), [vec![0], vec![1, 2]]);
    }

    #[test]
    fn a_statement_that_is_left_out_is_shown_on_one_line() {
        let mut builder = Builder::default();
        builder.statement(1, 0, "DROP TABLE\n    t", None);
        assert_eq!(builder.finish(0).left_out_first, "DROP TABLE t");
    }

    #[test]
    fn statements_of_one_second_are_spread_over_it() {
        let mut builder = Builder::default();
        for (session, second) in [(1, 10), (2, 10), (1, 10), (2, 10), (1, 12)] {
            builder.statement(session, second * 1_000_000, "SELECT 1", None);
        }
        let capture = builder.finish(1_000_000);
        let found: Vec<u64> = capture.statements.iter().map(|one| one.at_us).collect();
        assert_eq!(found, [0, 250_000, 500_000, 750_000, 2_000_000]);
    }
}
