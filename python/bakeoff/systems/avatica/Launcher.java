import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.Properties;
import org.apache.calcite.avatica.jdbc.JdbcMeta;
import org.apache.calcite.avatica.remote.Driver.Serialization;
import org.apache.calcite.avatica.remote.LocalService;
import org.apache.calcite.avatica.server.AvaticaHandler;
import org.apache.calcite.avatica.server.HandlerFactory;
import org.apache.calcite.avatica.server.HttpServer;
import org.eclipse.jetty.server.ServerConnector;

/**
 * Avatica's standalone server, but it listens on one address, has one account, forgets no session during a run, and ends
 * its database cleanly. Its own program (StandaloneServer) binds all interfaces and has an option for none of this.
 *
 * Arguments: host, port, the database's JDBC URL, a file with the account's name and password on a line each.
 */
public final class Launcher extends HttpServer {
  private final String host;

  private Launcher(String host, int port, AvaticaHandler handler) {
    super(port, handler);
    this.host = host;
  }

  @Override protected ServerConnector getServerConnector() {
    ServerConnector connector = super.getServerConnector();
    connector.setHost(host);
    return connector;
  }

  public static void main(String[] args) throws Exception {
    String url = args[2];
    List<String> account = Files.readAllLines(Path.of(args[3]));
    // HSQLDB makes the account that opens a new database its administrator.
    Connection first = DriverManager.getConnection(url, account.get(0), account.get(1));

    Properties settings = new Properties();
    for (String kept : List.of("connection", "statement")) {
      settings.setProperty("avatica." + kept + "cache.maxcapacity", "1000000");
      settings.setProperty("avatica." + kept + "cache.expiryduration", "7");
      settings.setProperty("avatica." + kept + "cache.expiryunit", "DAYS");
    }
    LocalService service = new LocalService(new JdbcMeta(url, settings));
    AvaticaHandler handler = new HandlerFactory().getHandler(service, Serialization.PROTOBUF);
    Launcher server = new Launcher(args[0], Integer.parseInt(args[1]), handler);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      try {
        first.createStatement().execute("SHUTDOWN");
      } catch (SQLException error) {
        System.err.println("ERROR the database was not shut down: " + error.getMessage());
      }
    }));
    server.start();
    server.join();
  }
}
