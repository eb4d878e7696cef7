// Sends with MariaDB's JDBC driver. The file of what was sent is own.py's. Run from its source, with the driver's jar.

import java.io.ByteArrayInputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public class MariadbJdbcSender {
    static final String[] FEATURES = {
        "text", "prepared", "zlib", "zstd", "connection_attributes", "query_attributes", "change_user", "reset_connection",
        "local_infile", "multi_statements", "procedures", "cursors", "big", "utf8mb4", "latin1", "gbk", "pipelining",
        "bulk", "failures", "failed_login", "use_database", "tls",
    };
    static final Map<String, String> CANNOT = new HashMap<>(Map.of(
        "zstd", "the driver compresses by zlib only",
        "query_attributes", "the driver has no query attributes",
        "change_user", "the driver has no call for it",
        "cursors", "the driver does not open cursors",
        "latin1", "the driver speaks utf8mb4 only",
        "gbk", "the driver speaks utf8mb4 only"));
    static final String INSERT = "INSERT INTO app.things (number, name) VALUES (?, ?)";

    static final byte[] MANY = "z".repeat(20000).getBytes(StandardCharsets.US_ASCII);

    static final Map<String, String> given = new HashMap<>();
    static final Map<String, List<String[]>> plan = new HashMap<>();

    interface Try {
        void run(List<String> sent) throws Exception;
    }

    interface Setter {
        void set(PreparedStatement statement, int place) throws SQLException;
    }

    /** A value that is bound, and what is sent of it, as JSON. */
    record Bound(String told, Setter setter) {}

    static class Session {
        final List<String> sent;
        final Connection connection;
        final long id;

        Session(List<String> sent, String options) throws SQLException {
            this.sent = sent;
            connection = connect(given.get("user"), given.get("password"), options);
            try (Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT CONNECTION_ID()")) {
                rows.next();
                id = rows.getLong(1);
            }
            note("Query", "SELECT CONNECTION_ID()", 0, null, "{}");
        }

        void note(String command, String text, int error, String parameters, String expected) {
            sent.add("{\"connection\": " + id + ", \"command\": " + quoted(command) + ", \"text\": " + quoted(text)
                + ", \"error\": " + error + ", \"parameters\": " + parameters + ", \"expected\": " + expected + "}");
        }

        void query(String text, int error, boolean late, String expected) throws SQLException {
            int told = 0;
            try (Statement statement = connection.createStatement()) {
                statement.setEscapeProcessing(false);
                boolean rows = statement.execute(text);
                while (rows || statement.getUpdateCount() != -1) {
                    rows = statement.getMoreResults();
                }
            } catch (SQLException problem) {
                told = problem.getErrorCode();
            }
            if (told != error) {
                throw new SQLException("the server says " + told + ", not " + error + ": " + text);
            }
            note("Query", text, late ? 0 : told, null, expected);
        }

        void execute(String text, Bound... values) throws SQLException {
            try (PreparedStatement statement = connection.prepareStatement(text)) {
                note("Prepare", text, 0, null, "{}");
                List<String> told = new ArrayList<>();
                for (int place = 0; place < values.length; place++) {
                    values[place].setter.set(statement, place + 1);
                    told.add(values[place].told);
                }
                statement.execute();
                note("Execute", text, 0, "[" + String.join(", ", told) + "]", "{}");
            }
            note("Close stmt", "", 0, null, "{}");
        }

        void inBulk(String text, List<List<Bound>> rows) throws SQLException {
            List<String> told = new ArrayList<>();
            try (PreparedStatement statement = connection.prepareStatement(text)) {
                for (List<Bound> row : rows) {
                    List<String> values = new ArrayList<>();
                    for (int place = 0; place < row.size(); place++) {
                        row.get(place).setter.set(statement, place + 1);
                        values.add(row.get(place).told);
                    }
                    told.add("[" + String.join(", ", values) + "]");
                    statement.addBatch();
                }
                statement.executeBatch();
                note("Bulk_execute", text, 0, "[" + String.join(", ", told) + "]",
                    "{\"affected_rows\": " + rows.size() + "}");
            }
            note("Close stmt", "", 0, null, "{}");
        }

        void close() throws SQLException {
            connection.close();
            note("Quit", "", 0, null, "{}");
        }
    }

    static Connection connect(String user, String password, String options) throws SQLException {
        String place = "jdbc:mariadb://127.0.0.1:" + given.get("port") + "/app?allowMultiQueries=true&allowLocalInfile=true"
            + "&allowPublicKeyRetrieval=true&cachePrepStmts=false" + options;
        return DriverManager.getConnection(place, user, password);
    }

    static void group(List<String> sent, String name, String options, String expected) throws Exception {
        Session session = new Session(sent, options);
        for (String[] planned : plan.get(name)) {
            session.query(planned[2], Integer.parseInt(planned[0]), planned[1].equals("1"), expected);
        }
        session.close();
    }

    static List<Bound> values() {
        byte[] bytes = {0, 1, 39, 34, 92, -1};
        String odd = "it's \"quoted\" \\ and ?";
        String wide = "\uD83D\uDE00 \u00E9 \u6F22\u5B57";
        return List.of(
            new Bound("null", (statement, place) -> statement.setNull(place, Types.VARCHAR)),
            new Bound("1", (statement, place) -> statement.setBoolean(place, true)),
            new Bound("-128", (statement, place) -> statement.setByte(place, (byte) -128)),
            new Bound("-32768", (statement, place) -> statement.setShort(place, (short) -32768)),
            new Bound("2147483647", (statement, place) -> statement.setInt(place, Integer.MAX_VALUE)),
            new Bound("-9223372036854775808", (statement, place) -> statement.setLong(place, Long.MIN_VALUE)),
            new Bound("0.10000000149011612", (statement, place) -> statement.setFloat(place, 0.1f)),
            new Bound("1.5e300", (statement, place) -> statement.setDouble(place, 1.5e300)),
            new Bound(quoted("12345678901234567890.123"),
                (statement, place) -> statement.setBigDecimal(place, new BigDecimal("12345678901234567890.123"))),
            new Bound(quoted(""), (statement, place) -> statement.setString(place, "")),
            new Bound(quoted(odd), (statement, place) -> statement.setString(place, odd)),
            new Bound(quoted(wide), (statement, place) -> statement.setString(place, wide)),
            new Bound(quoted("y".repeat(70000)), (statement, place) -> statement.setString(place, "y".repeat(70000))),
            new Bound(base64(bytes), (statement, place) -> statement.setBytes(place, bytes)),
            new Bound(base64(MANY), (statement, place) -> statement.setBinaryStream(place, new ByteArrayInputStream(MANY))),
            new Bound(quoted("23:59:58"), (statement, place) -> statement.setTime(place, Time.valueOf("23:59:58"))),
            new Bound(quoted("2024-02-29 23:59:58"),
                (statement, place) -> statement.setTimestamp(place, Timestamp.valueOf("2024-02-29 23:59:58"))),
            new Bound(quoted("2024-02-29 23:59:58.000120"),
                (statement, place) -> statement.setTimestamp(place, Timestamp.valueOf("2024-02-29 23:59:58.00012"))));
    }

    static void prepared(List<String> sent) throws Exception {
        Session session = new Session(sent, "&useServerPrepStmts=true");
        List<Bound> values = new ArrayList<>(values());
        if (given.get("server").equals("mariadb")) { // MySQL 9.7 refuses what the driver sends, a DATE of 7 bytes
            values.add(new Bound(quoted("2024-02-29"),
                (statement, place) -> statement.setDate(place, Date.valueOf("2024-02-29"))));
        }
        for (Bound value : values) {
            session.execute("SELECT ?", value);
            session.execute("SELECT ?, 'a ?' /* and ? */, ?", value, value);
        }
        session.execute("SELECT 'nothing bound'");
        try (PreparedStatement statement = session.connection.prepareStatement(INSERT)) {
            session.note("Prepare", INSERT, 0, null, "{}");
            for (int number = 1; number < 4; number++) {
                statement.setInt(1, number);
                statement.setString(2, "name");
                statement.execute();
                session.note("Execute", INSERT, 0, "[" + number + ", \"name\"]", "{\"affected_rows\": 1}");
            }
        }
        session.note("Close stmt", "", 0, null, "{}");
        session.close();
    }

    /** Batches, of which the driver sends all statements before it reads the first answer. */
    static void pipelining(List<String> sent) throws Exception {
        Session session = new Session(sent, "&useServerPrepStmts=true&useBatchMultiSend=true&useBulkStmts=false");
        try (Statement statement = session.connection.createStatement()) {
            for (int number = 0; number < 20; number++) {
                statement.addBatch("UPDATE app.things SET number = " + number + " WHERE id < 0");
            }
            statement.executeBatch();
        }
        for (int number = 0; number < 20; number++) {
            session.note("Query", "UPDATE app.things SET number = " + number + " WHERE id < 0", 0, null, "{}");
        }
        try (PreparedStatement statement = session.connection.prepareStatement(INSERT)) {
            session.note("Prepare", INSERT, 0, null, "{}");
            for (int number = 0; number < 20; number++) {
                statement.setInt(1, number);
                statement.setString(2, "name " + number);
                statement.addBatch();
            }
            statement.executeBatch();
        }
        for (int number = 0; number < 20; number++) {
            session.note("Execute", INSERT, 0, "[" + number + ", \"name " + number + "\"]", "{\"affected_rows\": 1}");
        }
        session.note("Close stmt", "", 0, null, "{}");
        session.query("SELECT 'the next'", 0, false, "{}");
        session.close();
    }

    /** Each value of its type, and many rows of two columns with some NULL. */
    static void bulk(List<String> sent) throws Exception {
        Session session = new Session(sent, "&useServerPrepStmts=true&useBulkStmts=true");
        for (Bound value : values()) {
            if (value.told.equals(base64(MANY))) {
                continue; // of a stream the driver sends each row by itself
            }
            session.inBulk("INSERT INTO app.things (data) VALUES (?)",
                List.of(List.of(value), List.of(value), List.of(value)));
        }
        List<List<Bound>> rows = new ArrayList<>();
        for (int number = 0; number < 1000; number++) {
            int each = number;
            String name = number % 3 == 0 ? null : "name " + number;
            rows.add(List.of(
                new Bound("" + each, (statement, place) -> statement.setInt(place, each)),
                new Bound(name == null ? "null" : quoted(name), (statement, place) -> statement.setString(place, name))));
        }
        session.inBulk(INSERT, rows);
        session.query("SELECT 'the next'", 0, false, "{}");
        session.close();
    }

    static void resetConnection(List<String> sent) throws Exception {
        Session session = new Session(sent, "&useServerPrepStmts=true&useResetConnection=true");
        for (int number = 0; number < 2; number++) {
            session.query("SELECT 'before'", 0, false, "{}");
            session.connection.unwrap(org.mariadb.jdbc.MariaDbConnection.class).reset();
            session.note("Reset connection", "", 0, null, "{}");
            session.execute("SELECT ?", new Bound("5", (statement, place) -> statement.setInt(place, 5)));
        }
        session.close();
    }

    static void big(List<String> sent) throws Exception {
        StringBuilder numbers = new StringBuilder(21 << 20);
        for (int number = 0; number < (20 << 20) / 8; number++) {
            numbers.append(String.format("%08x", number));
        }
        Session session = new Session(sent, "");
        session.query("SELECT LENGTH('" + numbers + "')", 0, false, "{}");
        session.close();
    }

    static void failedLogin(List<String> sent) throws Exception {
        for (String user : new String[] {"nobody", given.get("user")}) {
            try {
                connect(user, "wrong", "").close();
            } catch (SQLException problem) {
                sent.add("{\"connection\": 0, \"command\": \"Connect\", \"text\": " + quoted(user) + ", \"error\": "
                    + (problem.getErrorCode() > 0 ? problem.getErrorCode() : "null") + "}");
            }
        }
    }

    static void useDatabase(List<String> sent) throws Exception {
        Session session = new Session(sent, "");
        session.query("USE other", 0, false, "{}");
        session.query("SELECT 'in other'", 0, false, "{\"database\": \"other\"}");
        session.query("USE no_such_database", 1049, false, "{}");
        session.query("SELECT 'still in other'", 0, false, "{\"database\": \"other\"}");
        session.connection.setCatalog("app");
        session.note("Init DB", "app", 0, null, "{}");
        session.query("SELECT 'in app'", 0, false, "{\"database\": \"app\"}");
        session.close();
    }

    static void tls(List<String> sent) throws Exception {
        Session session = new Session(new ArrayList<>(), "&useSsl=true&trustServerCertificate=true");
        for (String[] planned : plan.get("text")) {
            session.query(planned[2], 0, false, "{}");
        }
        String cipher;
        try (Statement statement = session.connection.createStatement();
                ResultSet rows = statement.executeQuery("SHOW STATUS LIKE 'Ssl_cipher'")) {
            rows.next();
            cipher = rows.getString(2);
        }
        session.close();
        sent.add("{\"connection\": " + session.id + ", \"command\": \"TLS\", \"text\": " + quoted(cipher) + "}");
    }

    static Map<String, Try> tries() {
        Map<String, Try> tries = new HashMap<>();
        for (String name : new String[] {"text", "local_infile", "multi_statements", "procedures", "utf8mb4", "failures"}) {
            tries.put(name, sent -> group(sent, name, "", "{}"));
        }
        tries.put("zlib", sent -> group(sent, "text", "&useCompression=true", "{\"compressed\": true}"));
        tries.put("connection_attributes", sent -> group(sent, "text", "&connectionAttributes=one:1,two:second",
            "{\"connection_attributes\": {\"one\": \"1\", \"two\": \"second\"}}"));
        tries.put("prepared", MariadbJdbcSender::prepared);
        tries.put("pipelining", MariadbJdbcSender::pipelining);
        tries.put("bulk", MariadbJdbcSender::bulk);
        tries.put("reset_connection", MariadbJdbcSender::resetConnection);
        tries.put("big", MariadbJdbcSender::big);
        tries.put("failed_login", MariadbJdbcSender::failedLogin);
        tries.put("use_database", MariadbJdbcSender::useDatabase);
        tries.put("tls", MariadbJdbcSender::tls);
        return tries;
    }

    static String outcome(String feature, Try trying) {
        if (CANNOT.containsKey(feature)) {
            return "\"impossible\": " + quoted(CANNOT.get(feature));
        }
        List<String> sent = new ArrayList<>();
        try {
            trying.run(sent);
        } catch (Exception problem) {
            StringWriter trace = new StringWriter();
            problem.printStackTrace(new PrintWriter(trace));
            return "\"broken\": " + quoted(trace.toString());
        }
        return "\"sent\": [" + String.join(", ", sent) + "]";
    }

    static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\') {
                quoted.append('\\').append(each);
            } else if (each < ' ' || each > '~') {
                quoted.append(String.format("\\u%04x", (int) each));
            } else {
                quoted.append(each);
            }
        }
        return quoted.append('"').toString();
    }

    static String base64(byte[] data) {
        return "{\"base64\": \"" + Base64.getEncoder().encodeToString(data) + "\"}";
    }

    public static void main(String[] arguments) throws Exception {
        for (int place = 0; place < arguments.length; place += 2) {
            given.put(arguments[place].substring(2), arguments[place + 1]);
        }
        for (String line : Files.readAllLines(Path.of(given.get("plan")))) {
            String[] parts = line.split(" ");
            String text = new String(Base64.getDecoder().decode(parts[3]), StandardCharsets.UTF_8);
            plan.computeIfAbsent(parts[0], name -> new ArrayList<>()).add(new String[] {parts[1], parts[2], text});
        }
        if (given.get("server").equals("mysql")) {
            CANNOT.put("bulk", "MySQL does not have MariaDB's command");
            CANNOT.put("reset_connection", "the driver does not send it to MySQL");
        }
        Map<String, Try> tries = tries();
        List<String> lines = new ArrayList<>();
        for (String feature : FEATURES) {
            if (!given.containsKey("only") || List.of(given.get("only").split(",")).contains(feature)) {
                lines.add("{\"feature\": " + quoted(feature) + ", " + outcome(feature, tries.get(feature)) + "}");
            }
        }
        Files.write(Path.of(given.get("output")), lines);
        System.exit(0);
    }
}
