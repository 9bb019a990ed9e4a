import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.Base64;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/**
 * Runs SQL statements in one embedded Flink (in batch mode unless the arguments say STREAMING) and reports each as a line of JSON.
 *
 * <p>Standard input: one Base64-encoded statement a line; statements that give no rows are fine. Standard output:
 * {"seconds": ..., "rows": [[...]]} or {"error": "..."}; times are milliseconds since 1970, UTC. Seconds run from the
 * text to the last row in this process, so they leave out the start of the JVM and the pipe to the caller.
 */
public class FlinkDriver {
    public static void main(String[] arguments) throws Exception {
        // Libraries may print; only answers belong on the caller's pipe.
        PrintStream answers = System.out;
        System.setOut(System.err);
        Configuration configuration = new Configuration();
        boolean streaming = false;
        for (String argument : arguments) {
            String[] pair = argument.split("=", 2);
            configuration.setString(pair[0], pair[1]);
            streaming |= argument.equals("execution.runtime-mode=STREAMING");
        }
        EnvironmentSettings.Builder settings = EnvironmentSettings.newInstance().withConfiguration(configuration);
        TableEnvironment environment =
                TableEnvironment.create((streaming ? settings.inStreamingMode() : settings.inBatchMode()).build());
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String statement = new String(Base64.getDecoder().decode(line.trim()), StandardCharsets.UTF_8);
            answers.println(run(environment, statement));
            answers.flush();
        }
    }

    private static String run(TableEnvironment environment, String statement) {
        StringBuilder rows = new StringBuilder();
        long start = System.nanoTime();
        try {
            TableResult result = environment.executeSql(statement);
            try (CloseableIterator<Row> found = result.collect()) {
                while (found.hasNext()) {
                    rows.append(rows.length() == 0 ? "" : ",");
                    append(rows, found.next());
                }
            }
        } catch (Exception error) {
            Throwable cause = error;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            return "{\"error\": " + quoted(cause.toString()) + "}";
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        return "{\"seconds\": " + seconds + ", \"rows\": [" + rows + "]}";
    }

    private static void append(StringBuilder out, Row row) {
        out.append('[');
        for (int k = 0; k < row.getArity(); k++) {
            out.append(k == 0 ? "" : ",");
            Object value = row.getField(k);
            if (value instanceof LocalDateTime) {
                out.append(((LocalDateTime) value).toInstant(ZoneOffset.UTC).toEpochMilli());
            } else if (value instanceof Instant) {
                out.append(((Instant) value).toEpochMilli());
            } else if (value == null || value instanceof Number || value instanceof Boolean) {
                out.append(value);
            } else {
                out.append(quoted(value.toString()));
            }
        }
        out.append(']');
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }
}
