//! The statements' texts and numbers.
use super::request::MULTIGET_MOST;
use super::schema::{LINK_INDEX, NODE_TYPE};
use crate::prelude::*;
use crate::prepared;
use bakeoff_model::run::linkbench::{LinkbenchCompat, LinkbenchSpec};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    CountLinks,
    LinkList,
    LinkListTail,
    InsertLink,
    LinkForUpdate,
    UpdateLink,
    HideLink,
    CountUp,
    CountDown,
    GetNode,
    AddNode,
    UpdateNode,
    DeleteNode,
}

impl Question {
    const ALL: [Question; 13] = [
        Question::CountLinks,
        Question::LinkList,
        Question::LinkListTail,
        Question::InsertLink,
        Question::LinkForUpdate,
        Question::UpdateLink,
        Question::HideLink,
        Question::CountUp,
        Question::CountDown,
        Question::GetNode,
        Question::AddNode,
        Question::UpdateNode,
        Question::DeleteNode,
    ];

    #[inline]
    pub fn statement(self) -> Statement {
        Statement(self as u32)
    }

    fn reads(self) -> bool {
        use Question::{CountLinks, GetNode, LinkList, LinkListTail};
        matches!(self, CountLinks | GetNode | LinkList | LinkListTail)
    }

    /// With `?` for every value; `payload` is what stands for a node's or a link's.
    fn text(self, range_limit: u32, payload: &str, dialect: &Dialect) -> String {
        let one_link = "WHERE id1 = ? AND id2 = ? AND link_type = ?";
        let count = |first: u32, then: &str| {
            let set = format!("count = {then}, version = counttable.version + 1, time = ?");
            format!(
                "INSERT INTO counttable (id, link_type, count, time, version) VALUES (?, ?, {first}, ?, 0){}",
                dialect.update_if_there("id, link_type", &set)
            )
        };
        let list = || {
            format!(
                "SELECT {LINK_COLUMNS} FROM linktable{} WHERE id1 = ? AND link_type = ? AND time >= ? AND time <= ? \
                 AND visibility = 1 ORDER BY time DESC LIMIT {range_limit}",
                dialect.force_index.replace("{}", LINK_INDEX)
            )
        };
        match self {
            Self::CountLinks => "SELECT count FROM counttable WHERE id = ? AND link_type = ?".into(),
            Self::LinkList => list(),
            Self::LinkListTail => list() + " OFFSET 1",
            Self::InsertLink => format!(
                "{} linktable ({LINK_COLUMNS}) VALUES (?, ?, ?, 1, {payload}, ?, 0){}",
                match dialect.upsert_tells {
                    true => "INSERT INTO",
                    false => dialect.insert_or_leave(),
                },
                match dialect.upsert_tells {
                    true => dialect.update_if_there("link_type, id1, id2", "visibility = 1"),
                    false => dialect.leave_if_there(&["link_type", "id1", "id2"]),
                }
            ),
            Self::LinkForUpdate => {
                format!(
                    "SELECT visibility FROM linktable {one_link}{}",
                    dialect.for_update
                )
            }
            Self::UpdateLink => {
                format!(
                    "UPDATE linktable SET visibility = 1, data = {payload}, time = ?, version = 0 {one_link}"
                )
            }
            Self::HideLink => format!("UPDATE linktable SET visibility = 0 {one_link}"),
            Self::CountUp => count(1, "counttable.count + 1"),
            Self::CountDown => count(
                0,
                "CASE WHEN counttable.count = 0 THEN 0 ELSE counttable.count - 1 END",
            ),
            Self::GetNode => "SELECT id, type, version, time, data FROM nodetable WHERE id = ?".into(),
            Self::AddNode => {
                format!(
                    "INSERT INTO nodetable (type, version, time, data) VALUES ({NODE_TYPE}, 1, ?, {payload})"
                )
            }
            Self::UpdateNode => format!(
                "UPDATE nodetable SET version = 2, time = ?, data = {payload} WHERE id = ? AND type = {NODE_TYPE}"
            ),
            Self::DeleteNode => format!("DELETE FROM nodetable WHERE id = ? AND type = {NODE_TYPE}"),
        }
    }
}

/// The columns of every answer of links, in this order.
const LINK_COLUMNS: &str = "id1, id2, link_type, visibility, data, time, version";

/// Numbers of links by ids for which there is a statement: where fewer are asked for, the last is repeated. A server limits
/// its prepared statements, and each of these is one per session.
const SIZES: [usize; 8] = [1, 2, 3, 4, 8, 16, 32, MULTIGET_MOST];

/// Links by `count` ids, and of how many the statement is.
#[inline]
pub fn links_by_ids(count: usize) -> (Statement, usize) {
    let place = SIZES.iter().position(|size| *size >= count);
    let place = place.unwrap_or(SIZES.len() - 1);
    (Statement((Question::ALL.len() + place) as u32), SIZES[place])
}

fn links_text(size: usize) -> String {
    let ids = vec!["?"; size].join(", ");
    format!("SELECT {LINK_COLUMNS} FROM linktable WHERE id1 = ? AND link_type = ? AND id2 IN ({ids})")
}

pub async fn prepare(session: &mut AnySql, spec: &LinkbenchSpec) -> Result<(), OpError> {
    let dialect = session.dialect();
    let payload = payload(spec.compat, dialect);
    let asked = Question::ALL.map(|question| {
        let text = question.text(spec.range_limit, &payload, dialect);
        (text, question.reads())
    });
    let by_ids = SIZES.map(|size| (links_text(size), true));
    prepared::prepare(session, asked.into_iter().chain(by_ids)).await
}

/// The original's tables have it in texts, which bytes go into only where the server does not take them for characters.
fn payload(compat: LinkbenchCompat, dialect: &Dialect) -> String {
    match compat {
        LinkbenchCompat::Original => dialect.stored_bytes.replace("{}", "?"),
        LinkbenchCompat::None => "?".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_links_are_asked_for_by_the_next_larger_statement() {
        for (count, size) in [(1, 1), (3, 3), (5, 8), (33, 128), (128, 128)] {
            assert_eq!(links_by_ids(count).1, size);
        }
    }

    #[test]
    fn questions_are_numbered_as_they_are_prepared() {
        for (number, question) in Question::ALL.into_iter().enumerate() {
            assert_eq!(question.statement(), Statement(number as u32));
        }
    }
}
