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
        if is_there(session, look, name).await.map_err(|e| looking(&e))? {
            let hint = "allow dropping it, or name another schema in the plan";
            return Err(trouble::table_exists(name, hint));
        }
    }
    Ok(())
}

/// Reads every row of these; returns how many.
pub async fn read_all(session: &mut AnySql, names: &[String]) -> Result<u64, OpError> {
    let mut rows = 0;
    for name in names {
        let sql = format!("SELECT * FROM {name}");
        rows += session.query_text(&sql, &mut |_| {}).await?;
    }
    Ok(rows)
}

/// Those of them that exist, in their order.
pub async fn existing(session: &mut AnySql, names: &[String]) -> Result<Vec<String>, OpError> {
    let look = session.dialect().table_exists;
    let look = session.prepare(&Ask::read(look)).await?;
    let mut found = vec![];
    for name in names {
        if is_there(session, look, name).await? {
            found.push(name.clone());
        }
    }
    Ok(found)
}

async fn is_there(session: &mut AnySql, look: Statement, name: &str) -> Result<bool, OpError> {
    let found = session.query_one(look, &[Value::Text(name.as_bytes())]).await?;
    Ok(found.is_some())
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
