-- What sysbench 1.0 gives its scripts (its README and the scripts it comes with), for scripts that wait for answers. Here a
-- script runs as a coroutine, and what it asks of the database is what it yields:
--
--   yield(TEXT)              a statement
--   yield(HANDLE, N, ...)    a prepared one with its N values
--   yield(nil, SECONDS)      sleep
--   yield(true)              an event has ended, or `thread_init`
--   yield(false[, MESSAGE])  it has failed, by a statement or by an error with this message
--
-- The answer is true and what came, or false, the system's code, its state and its message.

local host = ...

local yield, setmetatable, type, pcall, error, unpack = coroutine.yield, setmetatable, type, pcall, error, unpack
local floor = math.floor

local BULK_BYTES = 512 * 1024
local NONE, RESTART_EVENT = 0, 1

local function class()
  local methods = {}
  methods.__index = methods
  return methods
end

local Driver, Connection, Statement, Parameter, Result = class(), class(), class(), class(), class()

local function nothing() end

local function failed(code, state, message)
  error({ errcode = RESTART_EVENT, sql_errno = code, sql_state = state, sql_errmsg = message }, 0)
end

local function answered(ok, first, second, third)
  if ok then return first, second, third end
  failed(first, second, third)
end

local function sleep(seconds)
  answered(yield(nil, seconds))
end

-- Results: the cells of all rows in one list, as texts; NULL is nil.

local EMPTY = {}

function Result:fetch_row()
  local first = self.at * self.nfields
  if self.at >= self.nrows then return nil end
  self.at = self.at + 1
  local row = {}
  for i = 1, self.nfields do row[i] = self.cells[first + i] end
  return row
end

Result.free = nothing

-- Connections. A user has one, however often its script connects.

function Connection:query(sql)
  local cells, rows, fields = answered(yield(sql))
  return setmetatable({ cells = cells or EMPTY, nrows = rows or 0, nfields = fields or 0, at = 0 }, Result)
end

function Connection:query_row(sql)
  local cells, rows, fields = answered(yield(sql))
  if not cells or rows == 0 then return nil end
  return unpack(cells, 1, fields)
end

function Connection:prepare(sql)
  return setmetatable({ handle = host.prepare(sql), parameters = EMPTY, execute = Statement.execute }, Statement)
end

function Connection:bulk_insert_init(sql)
  self.bulk = { begin = sql, rows = {}, bytes = 0 }
end

local function send_bulk(connection, bulk)
  if #bulk.rows == 0 then return end
  local sql = bulk.begin .. " " .. table.concat(bulk.rows, ",")
  bulk.rows, bulk.bytes = {}, 0
  connection:query(sql)
end

function Connection:bulk_insert_next(values)
  local bulk = self.bulk
  bulk.rows[#bulk.rows + 1] = values
  bulk.bytes = bulk.bytes + #values + 1
  if bulk.bytes >= BULK_BYTES then send_bulk(self, bulk) end
end

function Connection:bulk_insert_done()
  if self.bulk then send_bulk(self, self.bulk) end
  self.bulk = nil
end

-- The session is replaced when the event has ended, and `thread_init` called again.
function Connection:reconnect()
  host.reconnect()
end

Connection.disconnect, Connection.check_error = nothing, nothing

-- Statements.

-- Methods lie in what has them: the interpreter takes longer to find them in a metatable.

function Statement:bind_create(sql_type)
  return setmetatable({ whole = sql_type >= 1 and sql_type <= 4, set = Parameter.set }, Parameter)
end

function Statement:bind_param(...)
  self.parameters = { ... }
end

local function values(parameters, i)
  local parameter = parameters[i]
  if parameter then return parameter.value, values(parameters, i + 1) end
end

function Statement:execute()
  local parameters = self.parameters
  local first, second = parameters[1], parameters[2]
  local ok, rows, state, message
  if not first then
    ok, rows, state, message = yield(self.handle, 0)
  elseif not second then
    ok, rows, state, message = yield(self.handle, 1, first.value)
  elseif not parameters[3] then
    ok, rows, state, message = yield(self.handle, 2, first.value, second.value)
  else
    ok, rows, state, message = yield(self.handle, #parameters, values(parameters, 1))
  end
  if not ok then failed(rows, state, message) end
  local result = self.result
  if not result then
    result = setmetatable({ cells = EMPTY, nfields = 0, at = 0 }, Result)
    self.result = result
  end
  result.nrows = rows or 0
  return result
end

Statement.close = nothing

function Parameter:set(value)
  if self.whole and value then value = floor(value) end
  self.value = value
end

function Parameter:set_rand_str(format)
  self.value = host.string(format)
end

function Driver:name() return host.driver end

-- What a script may require besides the files of its own.

local FFI = {
  cdef = nothing,
  C = setmetatable({
    usleep = function(us) sleep(us / 1e6) end,
    sb_counter_inc = nothing,
  }, { __index = function() return 0 end }),
}

local OS = { clock = os.clock, date = os.date, difftime = os.difftime, time = os.time, getenv = nothing }

function OS.execute(command)
  local seconds = tostring(command):match("^%s*sleep%s+([%d.]+)%s*$")
  if not seconds then error("a script may not start programs: os.execute(\"" .. tostring(command) .. "\")", 2) end
  sleep(tonumber(seconds))
end

-- A statement asked for in a coroutine of the script's own would not be sent: it would be what that one yields. And whoever
-- knew the coroutine of a user could resume it while its statement is out.
local COROUTINE = setmetatable({}, {
  __index = function(_, name) error("a script has no coroutines of its own: coroutine." .. tostring(name), 2) end,
})

local BASE = {
  assert = assert, bit = bit, coroutine = COROUTINE, error = error, getmetatable = getmetatable, ipairs = ipairs, math = math,
  next = next, os = OS, pairs = pairs, pcall = pcall, rawequal = rawequal, rawget = rawget, rawset = rawset, select = select,
  setmetatable = setmetatable, string = string, table = table, tonumber = tonumber, tostring = tostring, type = type,
  unpack = unpack, xpcall = xpcall, _VERSION = _VERSION,
}

local SQL_TYPES = {
  NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7, DATE = 8, DATETIME = 9,
  TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
}

local RANDOM = {
  default = host.default, uniform = host.uniform, gaussian = host.gaussian, special = host.special, pareto = host.pareto,
  zipfian = host.zipfian, unique = host.unique, uniform_double = host.uniform_double, uniform_uint64 = host.uniform_uint64,
  string = host.string, varstring = host.varstring,
}

-- Names of before 1.0.
local OLD_RANDOM = {
  sb_rand = host.default, sb_rand_uniform = host.uniform, sb_rand_gaussian = host.gaussian, sb_rand_special = host.special,
  sb_rand_pareto = host.pareto, sb_rand_zipfian = host.zipfian, sb_rand_uniq = host.unique, sb_rand_str = host.string,
}

-- A user's globals, with the script in them. `chunks`: its files by module name, each a function that makes a new chunk, so
-- that all users share what was compiled.
local function user(chunks, script, command, tid, threads)
  local env = {}
  for name, value in pairs(BASE) do env[name] = value end
  for name, value in pairs(OLD_RANDOM) do env[name] = value end
  env._G, env.thread_id, env.test = env, tid, script .. ".lua"
  local connection = setmetatable({}, Connection)
  local driver = setmetatable({ connect = function() return connection end }, Driver)
  env.sysbench = {
    tid = tid, opt = { threads = threads }, version = "1.0.20", hooks = {},
    cmdline = {
      command = command, argv = {}, ARG_NONE = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3, ARG_DOUBLE = 4, ARG_STRING = 5,
      ARG_LIST = 6, ARG_FILE = 7, PARALLEL_COMMAND = true,
    },
    rand = RANDOM,
    sql = { driver = function() return driver end, type = SQL_TYPES, error = { NONE = 0, IGNORABLE = 1, FATAL = 2 } },
    error = { NONE = NONE, RESTART_EVENT = RESTART_EVENT },
    report_default = nothing, report_csv = nothing, report_json = nothing,
  }
  env.db_connect, env.db_disconnect = nothing, nothing
  for _, name in ipairs({ "query", "bulk_insert_init", "bulk_insert_next", "bulk_insert_done" }) do
    env["db_" .. name] = function(...) return connection[name](connection, ...) end
  end

  local function run(name)
    local make = chunks[name]
    if not make then error("there is no file " .. name .. ".lua next to the script or among its `modules`", 3) end
    return setfenv(make(), env)(name)
  end
  local loaded = { ffi = FFI, bit = bit, math = math, os = OS, string = string, table = table }
  function env.require(name)
    if loaded[name] == nil then
      loaded[name] = true
      local value = run(name)
      if value ~= nil then loaded[name] = value end
    end
    return loaded[name]
  end
  function env.dofile(path) return run(path:match("([^/]*)%.lua$") or path) end
  function env.print(...)
    local words = {}
    for i = 1, select("#", ...) do words[i] = tostring((select(i, ...))) end
    host.print(table.concat(words, "\t"))
  end
  function env.loadstring(text, name)
    if type(text) ~= "string" then return nil, "only texts are loaded" end
    local made, why = loadstring(text, name, "t")
    return made and setfenv(made, env), why
  end
  env.load = env.loadstring
  env.require(script)
  return env
end

-- What a user's coroutine does: events, until it is told that there are no more.
local function run(env)
  local tid = env.thread_id
  if env.thread_init then env.thread_init(tid) end
  local going = yield(true)
  while going do
    local ok, failure = pcall(env.event, tid)
    if ok then
      going = yield(true)
    elseif type(failure) == "table" and failure.errcode == RESTART_EVENT then
      local restarted = env.sysbench.hooks.before_restart_event
      if restarted then pcall(restarted, failure) end
      going = yield(false)
    else
      going = yield(false, tostring(failure))
    end
  end
  if env.thread_done then env.thread_done(tid) end
end

-- A command by its name: its function, and whether it is shared by threads.
local function command(env, name)
  local defined = (env.sysbench.cmdline.commands or EMPTY)[name]
  if type(defined) == "table" then return defined[1], defined[2] == true end
  return defined or env[name], false
end

return { user = user, run = run, command = command }
