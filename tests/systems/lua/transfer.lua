#!/usr/bin/env sysbench
require("accounts_common")

function thread_init()
  con = sysbench.sql.driver():connect()
  begin, commit = con:prepare("BEGIN"), con:prepare("COMMIT")
  moves = {}
  for t = 1, sysbench.opt.tables do
    local move = con:prepare("UPDATE accounts" .. t .. " SET balance = balance + ?, note = ? WHERE id = ?")
    local amount, note, id = move:bind_create(sysbench.sql.type.INT), move:bind_create(sysbench.sql.type.CHAR, 20),
      move:bind_create(sysbench.sql.type.INT)
    move:bind_param(amount, note, id)
    moves[t] = { statement = move, amount = amount, note = note, id = id }
  end
  events = 0
end

local function move(t, amount, id)
  moves[t].amount:set(amount)
  moves[t].note:set_rand_str("@@-##")
  moves[t].id:set(id)
  moves[t].statement:execute()
end

function event()
  events = events + 1
  local t = sysbench.rand.uniform(1, sysbench.opt.tables)
  local one, other = sysbench.rand.default(1, sysbench.opt.accounts), sysbench.rand.uniform(1, sysbench.opt.accounts)
  if one == other then other = one % sysbench.opt.accounts + 1 end
  if one > other then one, other = other, one end
  begin:execute()
  move(t, -1, one)
  if sysbench.opt.fail_every > 0 and events % sysbench.opt.fail_every == 0 then error("a planted error") end
  move(t, 1, other)
  local rows = con:query(string.format("SELECT id, balance, note FROM accounts%d WHERE id IN (%d, %d)", t, one, other))
  assert(rows.nrows == 2, "two rows")
  for _ = 1, rows.nrows do
    local id, balance, note = unpack(rows:fetch_row(), 1, rows.nfields)
    assert(tonumber(id) and tonumber(balance) and #note == 5, "cells of the row")
  end
  commit:execute()
end
