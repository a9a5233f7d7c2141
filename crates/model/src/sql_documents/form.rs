//! The statements of a collection in a table: `id`, `rev`, `doc`, and a column `pN` for a path that needs one for its index.
use crate::document::{CollectionSpec, Condition, Is, Patch, PathSpec, Select};
use crate::outcome::{FailClass, OpError};
use crate::sql::{Ask, Dialect, Json, JsonIndex};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verb {
    /// Parameter: key.
    Get,
    /// Parameters: the keys.
    GetBatch {
        keys: usize,
    },
    /// Parameters: key, first revision, document.
    Store,
    Insert {
        rows: usize,
    },
    /// Parameters: document, key.
    Replace,
    /// Parameters: document, key, revision.
    ReplaceAt,
    /// Parameters: the values, key.
    Patch,
    /// Parameters: key, and revision.
    Delete,
    DeleteAt,
    /// Parameters: the values, and limit.
    Find {
        limited: bool,
    },
    Count,
    /// Parameters: first key, and limit.
    Range {
        limited: bool,
    },
}

/// The paths that a statement has parameters for.
#[derive(Clone, Copy)]
pub enum Named<'a> {
    None,
    Conditions(&'a [Condition<'a>]),
    Uses(&'a [(u32, Is)]),
    Patches(&'a [Patch<'a>]),
    Paths(&'a [u32]),
}

impl<'a> Named<'a> {
    fn len(self) -> usize {
        match self {
            Self::None => 0,
            Self::Conditions(all) => all.len(),
            Self::Uses(all) => all.len(),
            Self::Patches(all) => all.len(),
            Self::Paths(all) => all.len(),
        }
    }

    fn at(self, index: usize) -> (u32, Is) {
        match self {
            Self::None => (0, Is::Equal),
            Self::Conditions(all) => (all[index].path, all[index].is),
            Self::Uses(all) => all[index],
            Self::Patches(all) => (all[index].path, Is::Equal),
            Self::Paths(all) => (all[index], Is::Equal),
        }
    }

    fn all(self) -> impl Iterator<Item = (u32, Is)> + use<'a> {
        (0..self.len()).map(move |index| self.at(index))
    }
}

/// One form of statement.
#[derive(Clone, Copy)]
pub struct Form<'a> {
    pub verb: Verb,
    pub select: Select<'a>,
    pub named: Named<'a>,
}

/// The same, kept.
pub struct Known {
    verb: Verb,
    select: KnownSelect,
    named: Box<[(u32, Is)]>,
}

enum KnownSelect {
    Whole,
    Key,
    Paths(Box<[u32]>),
}

impl Known {
    #[inline]
    pub fn is(&self, form: &Form<'_>) -> bool {
        self.verb == form.verb
            && match (&self.select, form.select) {
                (KnownSelect::Whole, Select::Whole) | (KnownSelect::Key, Select::Key) => true,
                (KnownSelect::Paths(known), Select::Paths(paths)) => **known == *paths,
                _ => false,
            }
            && self.named.len() == form.named.len()
            && self.named.iter().copied().eq(form.named.all())
    }
}

impl Form<'_> {
    pub fn plain(verb: Verb) -> Self {
        Self {
            verb,
            select: Select::Key,
            named: Named::None,
        }
    }

    pub fn keep(&self) -> Known {
        Known {
            verb: self.verb,
            select: match self.select {
                Select::Whole => KnownSelect::Whole,
                Select::Key => KnownSelect::Key,
                Select::Paths(paths) => KnownSelect::Paths(paths.into()),
            },
            named: self.named.all().collect(),
        }
    }

    pub fn ask(self, sql: &str) -> Ask<'_> {
        match self.verb {
            Verb::Get | Verb::GetBatch { .. } | Verb::Find { .. } | Verb::Count | Verb::Range { .. } => {
                Ask::read(sql)
            }
            _ => Ask::write(sql),
        }
    }

    pub fn sql(self, of: &Table<'_>) -> String {
        let (table, dialect) = (of.name(), of.dialect);
        let place = |number| dialect.placeholder(number);
        let stored = |number| of.json.stored.replace("{}", &place(number));
        let limit = |limited: bool, number| match limited {
            true => format!(" LIMIT {}", place(number)),
            false => String::new(),
        };
        match self.verb {
            Verb::Get => format!(
                "SELECT {} FROM {table} WHERE id={}",
                of.selected(self.select),
                place(1)
            ),
            Verb::GetBatch { keys } => {
                let keys: Vec<String> = (1..=keys).map(place).collect();
                let columns = of.selected(self.select);
                format!(
                    "SELECT id, {columns} FROM {table} WHERE id IN ({})",
                    keys.join(", ")
                )
            }
            Verb::Store => {
                let set = match dialect.upsert("id", &["doc"]) {
                    upsert if upsert.is_empty() => upsert,
                    upsert => format!("{upsert}, rev={table}.rev+1"),
                };
                format!("{}{set}", insert(of, 1))
            }
            Verb::Insert { rows } => insert(of, rows),
            Verb::Replace => {
                format!(
                    "UPDATE {table} SET doc={}, rev=rev+1 WHERE id={}",
                    stored(1),
                    place(2)
                )
            }
            Verb::ReplaceAt => format!(
                "UPDATE {table} SET doc={}, rev=rev+1 WHERE id={} AND rev={}",
                stored(1),
                place(2),
                place(3)
            ),
            Verb::Patch => {
                let mut document = "doc".to_owned();
                for (number, (path, _)) in (1..).zip(self.named.all()) {
                    document = (of.json.set)(&document, of.path(path), &place(number));
                }
                let key = place(self.named.len() + 1);
                format!("UPDATE {table} SET doc={document}, rev=rev+1 WHERE id={key}")
            }
            Verb::Delete => format!("DELETE FROM {table} WHERE id={}", place(1)),
            Verb::DeleteAt => format!("DELETE FROM {table} WHERE id={} AND rev={}", place(1), place(2)),
            Verb::Find { limited } => format!(
                "SELECT id, {} FROM {table}{}{}",
                of.selected(self.select),
                of.conditions(self.named),
                limit(limited, self.named.len() + 1)
            ),
            Verb::Count => format!("SELECT COUNT(*) FROM {table}{}", of.conditions(self.named)),
            Verb::Range { limited } => format!(
                "SELECT id, {} FROM {table} WHERE id>={} ORDER BY id{}",
                of.selected(self.select),
                place(1),
                limit(limited, 2)
            ),
        }
    }
}

/// Each row's parameters: key, first revision, document.
fn insert(of: &Table<'_>, rows: usize) -> String {
    let row = |row: usize| {
        let place = |column| of.dialect.placeholder(row * 3 + column);
        let document = of.json.stored.replace("{}", &place(3));
        format!("({}, {}, {document})", place(1), place(2))
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    format!(
        "INSERT INTO {} (id, rev, doc) VALUES {}",
        of.name(),
        rows.join(", ")
    )
}

/// A collection's table in the words of a dialect.
pub struct Table<'a> {
    pub spec: &'a CollectionSpec,
    pub dialect: &'a Dialect,
    pub json: &'a Json,
}

impl Table<'_> {
    fn name(&self) -> String {
        self.dialect.quoted(&self.spec.name)
    }

    fn path(&self, path: u32) -> &PathSpec {
        &self.spec.paths[path as usize]
    }

    fn selected(&self, select: Select<'_>) -> String {
        match select {
            Select::Key => "rev".into(),
            Select::Whole => format!("rev, {}", self.json.text.replace("{}", "doc")),
            Select::Paths(paths) => {
                let values = paths
                    .iter()
                    .map(|path| (self.json.value)("doc", self.path(*path)));
                std::iter::once("rev".into())
                    .chain(values)
                    .collect::<Vec<String>>()
                    .join(", ")
            }
        }
    }

    fn conditions(&self, named: Named<'_>) -> String {
        let mut text = String::new();
        for (number, (at, is)) in (1..).zip(named.all()) {
            let (path, place) = (self.path(at), self.dialect.placeholder(number));
            let operator = match is {
                Is::Equal => "=",
                Is::AtLeast => ">=",
                Is::Below => "<",
                Is::Containing => "",
            };
            text.push_str(if number == 1 { " WHERE " } else { " AND " });
            text.push_str(&match is {
                Is::Containing => (self.json.contains)("doc", path, &place),
                _ => format!(
                    "{}{operator}{}",
                    self.compared(at),
                    (self.json.compared)(&place, path.kind)
                ),
            });
        }
        text
    }

    fn compared(&self, at: u32) -> String {
        match self.index(at) {
            Some(JsonIndex::Column { .. }) => format!("p{at}"),
            _ => (self.json.value)("doc", self.path(at)),
        }
    }

    fn index(&self, at: u32) -> Option<JsonIndex> {
        let path = self.path(at);
        path.indexed.then(|| (self.json.index)("doc", path)).flatten()
    }

    /// The statements that create the table, in their order.
    pub fn create(&self) -> Result<Vec<String>, OpError> {
        let name = self.name();
        let key_type = self
            .json
            .key_type
            .replace("{}", &self.spec.key_length.to_string());
        let mut columns = format!(
            "id {key_type} NOT NULL PRIMARY KEY, rev BIGINT NOT NULL, doc {} NOT NULL",
            self.json.column_type
        );
        let mut indexes = vec![];
        for (at, path) in (0..).zip(&self.spec.paths) {
            if !path.indexed {
                continue;
            }
            let on = match self.index(at).ok_or_else(|| no_index(path))? {
                JsonIndex::On(on) => on,
                JsonIndex::Column { definition, key } => {
                    columns.push_str(&format!(", p{at} {definition}"));
                    format!("({})", key.replace("{}", &format!("p{at}")))
                }
            };
            let index = self.dialect.quoted(&format!("{}_p{at}", self.spec.name));
            indexes.push(format!("CREATE INDEX {index} ON {name} {on}"));
        }
        let table = format!("CREATE TABLE {name} ({columns}){}", self.dialect.table_suffix);
        Ok(std::iter::once(table).chain(indexes).collect())
    }

    pub fn drop(&self) -> String {
        format!("DROP TABLE IF EXISTS {}", self.name())
    }
}

fn no_index(path: &PathSpec) -> OpError {
    let what = format!("this system has no index for the array {}", path.steps.join("."));
    OpError::fail(FailClass::Refused, "INDEX", what)
}
