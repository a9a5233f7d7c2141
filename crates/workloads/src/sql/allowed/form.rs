//! A statement as the parser understood it: what it may be, and everything in it.
use super::{Place, Refusal, Rules, not_a_form};
use crate::functions;
use sqlparser::ast::{
    AlterTable, AlterTableOperation, ColumnDef, ColumnOption, ColumnOptionDef, CommentObject, CreateTable,
    CreateTableLikeKind, CreateTableOptions, DataType, Delete, Expr, FromTable, Function, FunctionArg,
    FunctionArgExpr, FunctionArguments, Ident, Insert, ObjectName, ObjectType, Query, Select, Statement,
    TableConstraint, TableFactor, TableObject, TableWithJoins, Update, Value, Visit, Visitor,
};
use std::ops::ControlFlow;

/// `form`: what a person calls it.
pub fn check(
    rules: &Rules<'_>,
    statement: &Statement,
    place: Place,
    form: &dyn Fn() -> String,
) -> Result<(), Refusal> {
    let mut visit = Each {
        rules,
        place,
        form,
        depth: 0,
    };
    match statement.visit(&mut visit) {
        ControlFlow::Break(refusal) => Err(refusal),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Each<'a> {
    rules: &'a Rules<'a>,
    place: Place,
    form: &'a dyn Fn() -> String,
    /// Statements around this one.
    depth: usize,
}

type Verdict = Result<(), Refusal>;

fn flow(verdict: Verdict) -> ControlFlow<Refusal> {
    match verdict {
        Ok(()) => ControlFlow::Continue(()),
        Err(refusal) => ControlFlow::Break(refusal),
    }
}

impl Visitor for Each<'_> {
    type Break = Refusal;

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Refusal> {
        self.depth += 1;
        flow(self.statement(statement))
    }

    fn post_visit_statement(&mut self, _statement: &Statement) -> ControlFlow<Refusal> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Refusal> {
        flow(self.query(query))
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Refusal> {
        match select.into {
            Some(_) => ControlFlow::Break(self.refused("it writes what it selects somewhere (INTO)")),
            None => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Refusal> {
        flow(match factor {
            TableFactor::Table {
                name, args: Some(_), ..
            }
            | TableFactor::Function { name, .. } => self.call(name),
            TableFactor::Table { .. }
            | TableFactor::Derived { .. }
            | TableFactor::TableFunction { .. }
            | TableFactor::UNNEST { .. }
            | TableFactor::JsonTable { .. }
            | TableFactor::NestedJoin { .. } => Ok(()),
            _ => Err(self.refused("it reads from what bakeoff does not know")),
        })
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Refusal> {
        match expr {
            Expr::Function(function) => flow(self.function(function)),
            _ => ControlFlow::Continue(()),
        }
    }
}

impl Each<'_> {
    fn refused(&self, what: impl Into<String>) -> Refusal {
        Refusal::new(what)
    }

    fn statement(&self, statement: &Statement) -> Verdict {
        let schema = self.place == Place::Schema;
        match statement {
            Statement::Query(_) => Ok(()),
            _ if self.place == Place::Check => Err(self.form()),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::Merge(merge) => self.table(&merge.table),
            Statement::Truncate(truncate) => {
                if truncate
                    .cascade
                    .as_ref()
                    .is_some_and(|cascade| cascade.to_string() == "CASCADE")
                {
                    return Err(self.refused("CASCADE reaches tables that it does not name"));
                }
                truncate
                    .table_names
                    .iter()
                    .try_for_each(|table| self.own(&table.name))
            }
            Statement::Savepoint { .. } | Statement::ReleaseSavepoint { .. } => Ok(()),
            Statement::Rollback { chain: false, .. } | Statement::Commit { chain: false, .. } => Ok(()),
            Statement::StartTransaction {
                statements,
                exception,
                ..
            } if statements.is_empty() && exception.is_none() => Ok(()),
            Statement::ShowVariable { .. }
            | Statement::ShowVariables { .. }
            | Statement::ShowStatus { .. }
            | Statement::ShowTables { .. }
            | Statement::ShowColumns { .. }
            | Statement::ShowCreate { .. } => Ok(()),
            Statement::Call(call) => self.call(&call.name),
            Statement::CreateTable(create) if schema && self.depth == 1 => self.create_table(create),
            Statement::CreateIndex(index) if schema => self.own(&index.table_name),
            Statement::AlterTable(alter) if schema => self.alter_table(alter),
            Statement::Drop {
                object_type: ObjectType::Table,
                names,
                cascade: false,
                temporary: false,
                ..
            } if schema => names.iter().try_for_each(|name| self.own(name)),
            Statement::Drop {
                object_type: ObjectType::Index,
                cascade: false,
                table: Some(table),
                ..
            } if schema => self.own(table),
            Statement::Drop {
                object_type: ObjectType::Index,
                names,
                cascade: false,
                table: None,
                ..
            } if schema => names.iter().try_for_each(|name| self.own_index(name)),
            Statement::Comment {
                object_type: CommentObject::Table,
                object_name,
                ..
            } if schema => self.own(object_name),
            Statement::Comment {
                object_type: CommentObject::Column,
                object_name: ObjectName(parts),
                ..
            } if schema && parts.len() == 2 => self.own(&ObjectName(vec![parts[0].clone()])),
            _ => Err(self.form()),
        }
    }

    fn form(&self) -> Refusal {
        match self.depth {
            1 => not_a_form(&(self.form)(), self.place),
            _ => self.refused("a statement in it is more than it may do"),
        }
    }

    fn query(&self, query: &Query) -> Verdict {
        if query.settings.is_some() || query.format_clause.is_some() || !query.pipe_operators.is_empty() {
            return Err(self.refused("it changes a setting"));
        }
        if query.locks.is_empty() {
            return Ok(());
        }
        if self.place == Place::Check {
            return Err(self.refused("it locks rows: a check only reads"));
        }
        let mut locked = Locked { of: self };
        match query.body.visit(&mut locked) {
            ControlFlow::Break(refusal) => Err(refusal),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    fn insert(&self, insert: &Insert) -> Verdict {
        let elsewhere = insert.overwrite
            || insert.partitioned.is_some()
            || insert.multi_table_insert_type.is_some()
            || !insert.multi_table_into_clauses.is_empty();
        match &insert.table {
            TableObject::TableName(name) if !elsewhere => self.own(name),
            _ => Err(self.form()),
        }
    }

    fn update(&self, update: &Update) -> Verdict {
        self.tables(std::slice::from_ref(&update.table))
    }

    fn delete(&self, delete: &Delete) -> Verdict {
        if delete.tables.iter().any(|name| name.0.len() > 1) {
            return Err(self.elsewhere(&delete.tables[0]));
        }
        // Elsewhere the name after FROM may be one that is given to another table here.
        if self.rules.dialect != "postgresql" {
            self.tables(delete.using.as_deref().unwrap_or_default())?;
        }
        match &delete.from {
            FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from) => self.tables(from),
        }
    }

    /// All of them, with what is joined to them: which of these it changes is for the system to say.
    fn tables(&self, tables: &[TableWithJoins]) -> Verdict {
        for with_joins in tables {
            self.table(&with_joins.relation)?;
            for join in &with_joins.joins {
                if !matches!(join.relation, TableFactor::Derived { .. }) {
                    self.table(&join.relation)?;
                }
            }
        }
        Ok(())
    }

    fn table(&self, factor: &TableFactor) -> Verdict {
        match factor {
            TableFactor::Table { name, args: None, .. } => self.own(name),
            _ => Err(self.form()),
        }
    }

    fn own(&self, name: &ObjectName) -> Verdict {
        match &*name.0 {
            [part] => match part.as_ident() {
                Some(ident) => self.rules.own(&ident.value, ident.quote_style.is_some()),
                None => Err(self.form()),
            },
            _ => Err(self.elsewhere(name)),
        }
    }

    fn own_index(&self, name: &ObjectName) -> Verdict {
        match &*name.0 {
            [part] => match part.as_ident() {
                Some(index) if self.rules.made.is_own_index(index, self.rules.dialect) => Ok(()),
                Some(Ident { value, .. }) => Err(self.refused(format!(
                    "it drops the index `{value}`, which no statement before it has made"
                ))),
                None => Err(self.form()),
            },
            _ => Err(self.elsewhere(name)),
        }
    }

    fn elsewhere(&self, name: &ObjectName) -> Refusal {
        self.refused(format!("the plan says in which schema tables lie, not {name}"))
    }

    fn create_table(&self, create: &CreateTable) -> Verdict {
        let CreateTable {
            or_replace,
            temporary,
            external,
            clone,
            inherits,
            partition_of,
            like,
            table_options,
            location,
            with_connection,
            ..
        } = create;
        if *or_replace {
            return Err(self.refused("OR REPLACE replaces an existing table"));
        }
        if *temporary {
            return Err(self.refused("a temporary table hides another of its name"));
        }
        if *external || clone.is_some() || location.is_some() || with_connection.is_some() {
            return Err(self.form());
        }
        if !matches!(
            table_options,
            CreateTableOptions::None | CreateTableOptions::With(_)
        ) {
            return Err(self.refused("its options cannot be checked"));
        }
        self.own(&create.name)?;
        for other in inherits.iter().flatten().chain(partition_of) {
            self.own(other)?;
        }
        match like {
            Some(CreateTableLikeKind::Plain(like) | CreateTableLikeKind::Parenthesized(like)) => {
                self.own(&like.name)?;
            }
            None => {}
        }
        for column in &create.columns {
            self.column_name(column)?;
            self.column(&column.options)?;
        }
        create
            .constraints
            .iter()
            .try_for_each(|constraint| self.constraint(constraint))
    }

    /// What the parser takes for a column may be a query, or another table whose columns are taken over.
    fn column_name(&self, column: &ColumnDef) -> Verdict {
        const NEVER: [&str; 4] = ["select", "with", "table", "like"];
        const NEVER_IN_MYSQL: [&str; 3] = ["values", "replace", "ignore"];
        let ColumnDef { name, data_type, .. } = column;
        let is = |word: &&str| name.quote_style.is_none() && name.value.eq_ignore_ascii_case(word);
        let knows_values = matches!(self.rules.dialect, "postgresql" | "sqlite");
        if is(&"like")
            && let DataType::Custom(table, _) = data_type
        {
            return self.own(table);
        }
        match NEVER.iter().any(is) || (!knows_values && NEVER_IN_MYSQL.iter().any(is)) {
            true => Err(self.refused(format!(
                "`{name}` stands where a column should: a column of that name needs quotes"
            ))),
            false => Ok(()),
        }
    }

    fn column(&self, options: &[ColumnOptionDef]) -> Verdict {
        options
            .iter()
            .try_for_each(|option| self.column_option(&option.option))
    }

    fn column_option(&self, option: &ColumnOption) -> Verdict {
        match option {
            ColumnOption::ForeignKey(key) => self.refers(&key.foreign_table),
            _ => Ok(()),
        }
    }

    fn constraint(&self, constraint: &TableConstraint) -> Verdict {
        match constraint {
            TableConstraint::ForeignKey(key) => self.refers(&key.foreign_table),
            _ => Ok(()),
        }
    }

    /// A table that another refers to can no longer be changed as before.
    fn refers(&self, name: &ObjectName) -> Verdict {
        self.own(name).map_err(|_| {
            self.refused(format!(
                "a foreign key on {name}, which is not a table of the plan, would restrict it"
            ))
        })
    }

    fn alter_table(&self, alter: &AlterTable) -> Verdict {
        if alter.location.is_some() || alter.on_cluster.is_some() || alter.table_type.is_some() {
            return Err(self.form());
        }
        self.own(&alter.name)?;
        alter
            .operations
            .iter()
            .try_for_each(|operation| self.alteration(operation))
    }

    fn alteration(&self, operation: &AlterTableOperation) -> Verdict {
        use AlterTableOperation as Op;
        match operation {
            Op::AddConstraint { constraint, .. } => self.constraint(constraint),
            Op::AddColumn { column_def, .. } => self.column(&column_def.options),
            Op::ChangeColumn { options, .. } | Op::ModifyColumn { options, .. } => {
                options.iter().try_for_each(|option| self.column_option(option))
            }
            Op::DropColumn { drop_behavior, .. } | Op::DropConstraint { drop_behavior, .. } => {
                match drop_behavior
                    .as_ref()
                    .is_some_and(|how| how.to_string() == "CASCADE")
                {
                    true => Err(self.refused("CASCADE reaches what it does not name")),
                    false => Ok(()),
                }
            }
            Op::AlterColumn { .. }
            | Op::RenameColumn { .. }
            | Op::RenameConstraint { .. }
            | Op::ValidateConstraint { .. }
            | Op::DropIndex { .. }
            | Op::DropForeignKey { .. }
            | Op::DropPrimaryKey { .. }
            | Op::SetLogged
            | Op::SetUnlogged
            | Op::SetOptionsParens { .. }
            | Op::ReplicaIdentity { .. }
            | Op::AutoIncrement { .. }
            | Op::Algorithm { .. }
            | Op::Lock { .. } => Ok(()),
            other => Err(self.refused(format!(
                "`{other}` is not one of the changes of a table that a schema may have"
            ))),
        }
    }

    fn function(&self, function: &Function) -> Verdict {
        let name = function.name.to_string().to_ascii_lowercase();
        match &*name {
            // The query in it is looked at as any other.
            "array" if matches!(function.args, FunctionArguments::Subquery(_)) => Ok(()),
            "nextval" | "setval" if self.place != Place::Check => {
                match self.is_own_sequence(function) || self.is_said(&name) {
                    true => Ok(()),
                    false => Err(self
                        .refused(format!(
                            "`{name}` counts a sequence that is not known to be the plan's"
                        ))
                        .hint(&format!(
                            "on PostgreSQL, name it by its table: pg_get_serial_sequence('orders', 'id'); if it is the plan's \
                             alone, say so: functions = [\"{name}\"] in [workload]"
                        ))),
                }
            }
            _ => self.call(&function.name),
        }
    }

    fn call(&self, name: &ObjectName) -> Verdict {
        let written = name.to_string();
        let plain = match &*name.0 {
            [part] => part.as_ident().map(|ident| ident.value.clone()),
            [schema, part] if schema.to_string().eq_ignore_ascii_case("pg_catalog") => {
                part.as_ident().map(|ident| ident.value.clone())
            }
            _ => None,
        };
        match self.is_said(&written) || plain.is_some_and(|name| functions::is_known(&name)) {
            true => Ok(()),
            false => Err(self
                .refused(format!("it calls `{written}`, which is not known to change nothing"))
                .hint(&format!(
                    "if it concerns the plan's tables alone, say so: functions = [\"{written}\"] in [workload]"
                ))),
        }
    }

    /// The plan says that it may be called.
    fn is_said(&self, function: &str) -> bool {
        let mut all = self.rules.functions.iter();
        all.any(|said| said.eq_ignore_ascii_case(function))
    }

    /// The first argument is the name of a sequence that the schema has made, or the call that looks up a column's.
    fn is_own_sequence(&self, function: &Function) -> bool {
        let FunctionArguments::List(list) = &function.args else {
            return false;
        };
        let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(first))) = list.args.first() else {
            return false;
        };
        let text = |expr: &Expr| match expr {
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(text) => Some(text.clone()),
                _ => None,
            },
            _ => None,
        };
        match first {
            Expr::Function(inner)
                if inner
                    .name
                    .to_string()
                    .eq_ignore_ascii_case("pg_get_serial_sequence") =>
            {
                let FunctionArguments::List(list) = &inner.args else {
                    return false;
                };
                match list.args.first() {
                    Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(table))) => {
                        text(table).is_some_and(|table| self.rules.is_own(&table, false))
                    }
                    _ => false,
                }
            }
            literal => text(literal).is_some_and(|sequence| self.rules.made.is_own_sequence(&sequence)),
        }
    }
}

/// Every table that a locking query reads is locked.
struct Locked<'a> {
    of: &'a Each<'a>,
}

impl Visitor for Locked<'_> {
    type Break = Refusal;

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Refusal> {
        flow(match factor {
            TableFactor::Table { name, args: None, .. } => self.of.own(name),
            _ => Ok(()),
        })
    }
}
