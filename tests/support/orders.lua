-- sysbench script: SELECT, INSERT, UPDATE and DELETE of 50 to 281 bytes, one an event. With --db-ps-mode=disable they go
-- as text, with auto they are prepared on the server. Each thread lists what it sends in a file of its own below --lists,
-- a line each: the command as the server's general log names it, a tab, the statement as that log writes it.

sysbench.cmdline.options = {
   lists = {"Folder for the lists of statements sent", "."},
   rows = {"Rows that the table holds", 10000},
}

local INT, CHAR = sysbench.sql.type.INT, sysbench.sql.type.VARCHAR
local LONGEST = 281
local LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"

-- How often of a hundred, the text, the types of what is bound; a text value fills the statement up to some length.
local SHAPES = {
   {22, "SELECT id, customer, state, note FROM orders WHERE id = ?", {INT}},
   {8, "SELECT COUNT(*), MAX(changed) FROM orders WHERE customer = ?", {INT}},
   {8, "SELECT id, state FROM orders WHERE customer = ? ORDER BY id DESC LIMIT ?", {INT, INT}},
   {6, "SELECT id, note FROM orders WHERE id > ? AND state = 7 ORDER BY id LIMIT 10", {INT}},
   {5, "SELECT customer, SUM(changed) FROM orders WHERE customer IN (?, ?, ?) GROUP BY customer", {INT, INT, INT}},
   {5, "SELECT o.id, o.note FROM orders AS o JOIN orders AS p ON p.id = o.customer WHERE o.id = ?", {INT}},
   {12, "UPDATE orders SET state = ?, note = ?, changed = changed + 1 WHERE id = ?", {INT, CHAR, INT}},
   {8, "UPDATE orders SET changed = changed + 1 WHERE customer = ?", {INT}},
   {12, "INSERT INTO orders (customer, state, note) VALUES (?, ?, ?)", {INT, INT, CHAR}},
   {4, "INSERT INTO orders (customer, state, note) VALUES (?, ?, ?), (?, ?, 'second')", {INT, INT, CHAR, INT, INT}},
   {5, "DELETE FROM orders WHERE customer = ? AND state > 90 LIMIT ?", {INT, INT}},
   {5, "DELETE FROM orders WHERE id = ? AND note <> 'kept for ever'", {INT}},
}

local connection, list, prepared

local function note(command, text)
   list:write(command, "\t", text, "\n")
end

local function as_sent(shape, values)
   local place = 0
   return (shape[2]:gsub("%?", function()
      place = place + 1
      return shape[3][place] == CHAR and "'" .. values[place] .. "'" or tostring(values[place])
   end))
end

local function random_text(length)
   local letters = {}
   for place = 1, length do
      local letter = sysbench.rand.uniform(1, #LETTERS)
      letters[place] = LETTERS:sub(letter, letter)
   end
   return table.concat(letters)
end

local function choose_shape()
   local chance = sysbench.rand.uniform(1, 100)
   for place, shape in ipairs(SHAPES) do
      chance = chance - shape[1]
      if chance <= 0 then
         return place
      end
   end
end

local function choose_values(shape)
   local values, text_at = {}, nil
   for place, kind in ipairs(shape[3]) do
      if kind == CHAR then
         values[place], text_at = "", place
      else
         values[place] = sysbench.rand.uniform(1, sysbench.opt.rows)
      end
   end
   if text_at then
      values[text_at] = random_text(sysbench.rand.uniform(1, LONGEST - #as_sent(shape, values)))
   end
   return values
end

local function prepare(shape)
   local handle, bound = connection:prepare(shape[2]), {}
   for at, kind in ipairs(shape[3]) do
      bound[at] = kind == CHAR and handle:bind_create(kind, LONGEST) or handle:bind_create(kind)
   end
   handle:bind_param(unpack(bound))
   note("Prepare", shape[2])
   return {handle = handle, bound = bound}
end

function thread_init()
   connection = sysbench.sql.driver():connect()
   local id = connection:query_row("SELECT CONNECTION_ID() /* this list's connection */")
   list = assert(io.open(sysbench.opt.lists .. "/" .. id .. ".list", "w"))
   note("Query", "SELECT CONNECTION_ID() /* this list's connection */")
   prepared = {}
   if sysbench.opt.db_ps_mode ~= "disable" then
      for place, shape in ipairs(SHAPES) do
         prepared[place] = prepare(shape)
      end
   end
end

function event()
   local place = choose_shape()
   local shape, statement = SHAPES[place], prepared[place]
   local values = choose_values(shape)
   if statement then
      for at, value in ipairs(values) do
         statement.bound[at]:set(value)
      end
      note("Execute", as_sent(shape, values))
      statement.handle:execute()
   else -- not through a statement that sysbench imitates: it sends what is left of a longer text before
      note("Query", as_sent(shape, values))
      connection:query(as_sent(shape, values))
   end
end

function thread_done()
   for _, statement in ipairs(prepared) do
      statement.handle:close()
      note("Close stmt", "")
   end
   connection:disconnect()
   note("Quit", "")
   list:close()
end
