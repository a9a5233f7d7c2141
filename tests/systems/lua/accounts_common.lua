sysbench.cmdline.options = {
  accounts = { "Number of accounts", 100 },
  tables = { "Number of tables", 1 },
  fail_every = { "Fail each event of this number", 0 },
}

function cmd_prepare()
  local con = sysbench.sql.driver():connect()
  for t = sysbench.tid % sysbench.opt.threads + 1, sysbench.opt.tables, sysbench.opt.threads do
    con:query(string.format("CREATE TABLE accounts%d (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, note VARCHAR(20))", t))
    con:bulk_insert_init("INSERT INTO accounts" .. t .. " (id, balance, note) VALUES")
    for id = 1, sysbench.opt.accounts do
      con:bulk_insert_next(string.format("(%d, 100, NULL)", id))
    end
    con:bulk_insert_done()
  end
end

function cmd_check()
  local con = sysbench.sql.driver():connect()
  for t = sysbench.tid % sysbench.opt.threads + 1, sysbench.opt.tables, sysbench.opt.threads do
    local sum = con:query_row("SELECT SUM(balance) FROM accounts" .. t)
    local right = tonumber(sum) == 100 * sysbench.opt.accounts
    print(string.format("Check of accounts%d: %s", t, right and "PASSED" or "FAILED with " .. sum))
  end
end

sysbench.cmdline.commands = {
  prepare = { cmd_prepare, sysbench.cmdline.PARALLEL_COMMAND },
  check = { cmd_check, sysbench.cmdline.PARALLEL_COMMAND },
}
