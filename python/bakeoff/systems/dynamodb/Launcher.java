import com.amazonaws.services.dynamodbv2.local.main.ServerRunner;
import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import java.lang.reflect.Field;
import java.util.Arrays;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * DynamoDB Local, but it listens on one address: its own program binds all interfaces and has no option for that, so its
 * web server is told before it starts.
 *
 * Arguments: host, and those of its own program.
 */
public final class Launcher {
  public static void main(String[] args) throws Exception {
    DynamoDBProxyServer local =
        ServerRunner.createServerFromCommandLineArgs(Arrays.copyOfRange(args, 1, args.length));
    Field field = DynamoDBProxyServer.class.getDeclaredField("server");
    field.setAccessible(true);
    for (Connector connector : ((Server) field.get(local)).getConnectors()) {
      ((ServerConnector) connector).setHost(args[0]);
    }
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      try {
        local.stop();
      } catch (Exception error) {
        System.err.println("ERROR the server did not stop cleanly: " + error.getMessage());
      }
    }));
    local.start();
    local.join();
  }
}
