// Sends with Node's mysql2. The file of what was sent is own.py's.

'use strict';

const fs = require('fs');
const path = require('path');
const { parseArgs } = require('util');

const NAMES = ['port', 'user', 'password', 'server', 'infile', 'plan', 'output', 'programs', 'only'];
const given = parseArgs({ options: Object.fromEntries(NAMES.map((name) => [name, { type: 'string' }])) }).values;
const mysql = require(path.join(given.programs, 'node_modules', 'mysql2', 'promise.js'));

const FEATURES = [
  'text', 'prepared', 'zlib', 'zstd', 'connection_attributes', 'query_attributes', 'change_user', 'reset_connection',
  'local_infile', 'multi_statements', 'procedures', 'cursors', 'big', 'utf8mb4', 'latin1', 'gbk', 'pipelining', 'bulk',
  'failures', 'failed_login', 'use_database', 'tls',
];
const CANNOT = {
  zstd: 'mysql2 compresses by zlib only',
  cursors: 'mysql2 does not open cursors',
  bulk: "mysql2 does not have MariaDB's command",
  pipelining: 'mysql2 waits for each answer',
};
if (given.server === 'mariadb') CANNOT.query_attributes = 'MariaDB has no query attributes';

const plan = {};
for (const line of fs.readFileSync(given.plan, 'ascii').split('\n').filter(Boolean)) {
  const [group, error, late, text] = line.split(' ');
  (plan[group] ||= []).push([Buffer.from(text, 'base64').toString(), Number(error), late === '1']);
}

class Session {
  constructor(sent, connection, charset) {
    Object.assign(this, { sent, connection, charset, id: connection.threadId });
  }

  note(command, text = '', more = {}) {
    this.sent.push({ connection: this.id, command, text, charset: this.charset, ...more });
  }

  async query(text, error = 0, late = false, expected = {}) {
    const told = await numberOf(this.connection.query(typeof text === 'string' ? { sql: text, ...stream(text) } : text));
    const sql = typeof text === 'string' ? text : text.sql;
    if (told !== error) throw new Error(`the server says ${told}, not ${error}: ${sql.slice(0, 200)}`);
    this.note('Query', sql, { error: late ? 0 : told, expected });
  }

  async execute(text, values, sentValues = values) {
    await this.connection.execute(text, values);
    this.note('Execute', text, { parameters: sentValues });
  }

  async close() {
    await this.connection.end();
    this.note('Quit');
  }
}

function named(attributes) {
  return { query_attributes: Object.entries(attributes) };
}

function stream(text) {
  return text.startsWith('LOAD DATA') ? { infileStreamFactory: () => fs.createReadStream(given.infile) } : {};
}

async function numberOf(answer) {
  try {
    await answer;
    return 0;
  } catch (error) {
    if (!error.errno) throw error;
    return error.errno;
  }
}

async function connect(sent, options = {}, charset = 'utf8mb4') {
  const connection = await mysql.createConnection({
    host: '127.0.0.1', port: Number(given.port), user: given.user, password: given.password, database: 'app',
    multipleStatements: true, charset: `${charset}_general_ci`.replace('latin1_general_ci', 'latin1_swedish_ci')
      .replace('gbk_general_ci', 'gbk_chinese_ci'), ...options,
  });
  return new Session(sent, connection, charset);
}

async function group(sent, name, options = {}, charset = 'utf8mb4', expected = {}) {
  const session = await connect(sent, options, charset);
  for (const [text, error, late] of plan[name]) await session.query(text, error, late, expected);
  await session.close();
}

function big() {
  const numbers = [];
  for (let number = 0; number < (20 << 20) / 8; number += 1) numbers.push(number.toString(16).padStart(8, '0'));
  return `SELECT LENGTH('${numbers.join('')}')`;
}

// Values that are bound, and what is sent of them: numbers as doubles, dates and times as text, booleans as numbers.
const VALUES = [
  [null, null], [0, 0], [-1, -1], [2 ** 53, 2 ** 53], [0.1, 0.1], [-1.5e-7, -1.5e-7], [1.5e300, 1.5e300],
  ['', ''], ['it\'s "quoted" \\ and ?', 'it\'s "quoted" \\ and ?'], ['\u{1f600} é 漢字', '\u{1f600} é 漢字'],
  ['x'.repeat(300), 'x'.repeat(300)], ['y'.repeat(70000), 'y'.repeat(70000)],
  [Buffer.from([0, 1, 39, 34, 92, 255]), { base64: Buffer.from([0, 1, 39, 34, 92, 255]).toString('base64') }],
];

const TRIES = {
  async prepared(sent) {
    const session = await connect(sent);
    for (const [value, told] of VALUES) {
      await session.execute('SELECT ?', [value], [told]);
      await session.execute("SELECT ?, 'a ?' /* and ? */, ?", [value, value], [told, told]);
    }
    for (const values of [[1, 'one'], [2, 'two'], [3, null]]) {
      await session.execute('INSERT INTO app.things (number, name) VALUES (?, ?)', values);
    }
    const statement = await session.connection.prepare('SELECT ? + 1');
    session.note('Prepare', 'SELECT ? + 1');
    for (const number of [1, 2, 3]) {
      await statement.execute([number]);
      session.note('Execute', 'SELECT ? + 1', { parameters: [number] });
    }
    await statement.close();
    session.note('Close stmt');
    await session.query("SELECT 'the next'");
    await session.close();
  },
  zlib: (sent) => group(sent, 'text', { compress: true }, 'utf8mb4', { compressed: true }),
  async connection_attributes(sent) {
    const attributes = { one: '1', 'naïve': '\u{1f600}', long: 'x'.repeat(300), program_name: 'querytap' };
    const expected = { connection_attributes: attributes, program: 'querytap' };
    await group(sent, 'text', { connectAttributes: attributes }, 'utf8mb4', expected);
  },
  async query_attributes(sent) {
    const session = await connect(sent);
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const query = (sql, attributes) => session.query({ sql, attributes }, 0, false, named(attributes));
    const execute = async (sql, values, attributes) => {
      await session.connection.execute({ sql, values, attributes });
      session.note('Execute', sql, { parameters: values, expected: named(attributes) });
    };
    await query("SELECT 'one'", { traceparent });
    await query("SELECT 'two'", { traceparent, 'naïve': '\u{1f600}', number: 5, half: -0.5, none: null });
    await session.query("SELECT 'without'", 0, false, named({}));
    await execute('SELECT ?, ?', ['one', 2], { traceparent, n: 'x' });
    await execute('SELECT ?, ?', [null, 3], { traceparent: 'another' });
    await execute('SELECT ?, ?', ['none', 4], {});
    await execute("SELECT 'nothing bound'", [], { traceparent });
    await session.close();
  },
  async change_user(sent) {
    const session = await connect(sent);
    await session.query("SELECT 'before'", 0, false, { user: given.user, database: 'app' });
    await session.connection.changeUser({ user: 'other', password: 'another secret', database: 'other' });
    session.note('Change user', 'other');
    await session.query("SELECT 'after'", 0, false, { user: 'other', database: 'other' });
    await session.connection.changeUser({ user: given.user, password: given.password, database: 'app' });
    session.note('Change user', given.user);
    await session.query("SELECT 'back'", 0, false, { user: given.user, database: 'app' });
    await session.close();
  },
  async reset_connection(sent) {
    const session = await connect(sent);
    for (const number of [1, 2]) {
      await session.execute('SELECT ?', [number]);
      await session.connection.reset();
      session.note('Reset connection');
      await session.query("SELECT 'reset'");
    }
    await session.close();
  },
  async big(sent) {
    const session = await connect(sent);
    await session.query(big());
    await session.close();
  },
  async tls(sent) {
    const session = await connect([], { ssl: { rejectUnauthorized: false } });
    for (const [text] of plan.text) await session.query(text);
    const [rows] = await session.connection.query("SHOW STATUS LIKE 'Ssl_cipher'");
    await session.close();
    sent.push({ connection: session.id, command: 'TLS', text: rows[0].Value });
  },
  latin1: (sent) => group(sent, 'latin1', {}, 'latin1'),
  gbk: (sent) => group(sent, 'gbk', {}, 'gbk'),
  async failed_login(sent) {
    for (const user of ['nobody', given.user]) {
      const error = await numberOf(connect([], { user, password: 'wrong' }));
      sent.push({ connection: 0, command: 'Connect', text: user, error });
    }
  },
  async use_database(sent) {
    const session = await connect(sent);
    await session.query('USE other');
    await session.query("SELECT 'in other'", 0, false, { database: 'other' });
    await session.query('USE no_such_database', 1049);
    await session.query("SELECT 'still in other'", 0, false, { database: 'other' });
    await session.close();
  },
};
for (const name of ['text', 'local_infile', 'multi_statements', 'procedures', 'utf8mb4', 'failures']) {
  TRIES[name] = (sent) => group(sent, name);
}

async function main() {
  const lines = [];
  for (const feature of FEATURES.filter((name) => !given.only || given.only.split(',').includes(name))) {
    const sent = [];
    let outcome = { sent };
    if (CANNOT[feature]) {
      outcome = { impossible: CANNOT[feature] };
    } else {
      try {
        await TRIES[feature](sent);
      } catch (error) {
        outcome = { broken: error.stack };
      }
    }
    lines.push(JSON.stringify({ feature, ...outcome }));
  }
  fs.writeFileSync(given.output, `${lines.join('\n')}\n`);
}

main();
