//! Tables of a workload, by their names: which exist, and how to drop them. Names are of lower case letters, digits and
//! underscores, so that none needs quotes.
use crate::prelude::*;
use crate::trouble;

/// Makes way for new tables: drops existing ones in this order where that is allowed, and refuses them otherwise.
pub async fn make_way(session: &mut AnySql, names: &[String], drop_existing: bool) -> Result<(), Trouble> {
    match drop_existing {
        true => drop_all(session, names).await,
        false => refuse_existing(session, names).await,
    }
}

/// In this order: one that another refers to goes after it.
pub async fn drop_all(session: &mut AnySql, names: &[String]) -> Result<(), Trouble> {
    for name in names {
        let dropped = session
            .execute_text(&format!("DROP TABLE IF EXISTS {name}"))
            .await;
        dropped.map_err(|e| trouble::setup("drop the table", name, &e))?;
    }
    Ok(())
}

async fn refuse_existing(session: &mut AnySql, names: &[String]) -> Result<(), Trouble> {
    let first = names.first().map_or("", String::as_str);
    let looking = |e: &OpError| trouble::setup("look for tables", first, e);
    let look = session.dialect().table_exists;
    let look = session.prepare(&Ask::read(look)).await.map_err(|e| looking(&e))?;
    for name in names {
        let found = session.query_one(look, &[Value::Text(name.as_bytes())]).await;
        if found.map_err(|e| looking(&e))?.is_some() {
            let hint = "allow dropping it, or name another schema in the plan";
            return Err(trouble::table_exists(name, hint));
        }
    }
    Ok(())
}

/// Rows are loaded with their numbers up to `last`; the next that has none is to come after them.
pub async fn number_after(session: &mut AnySql, table: &str, column: &str, last: u64) -> Result<(), Trouble> {
    let Some(form) = session.dialect().number_after else {
        return Ok(());
    };
    let sql = form
        .replace("{table}", table)
        .replace("{column}", column)
        .replace("{last}", &last.to_string());
    let numbered = session.query_text(&sql, &mut |_| {}).await;
    numbered
        .map(drop)
        .map_err(|e| trouble::setup("number the rows of the table", table, &e))
}
