import NIOCore
import NIOSSL

/// The TLS settings of a connection to Redis: whom to believe. Made once, shared by all connections.
package struct RedisTLS: Sendable {
    private let context: NIOSSLContext

    /// - Parameter authorityFile: PEM file; a server is believed if a certificate in it vouches for the server's name (or
    ///   address). Nobody else is: not what the system trusts.
    package init(authorityFile: String) throws(RedisTLSError) {
        do {
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.minimumTLSVersion = .tlsv12
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(authorityFile))
            self.context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw .unreadable(authorityFile: authorityFile)
        }
    }

    /// The handler between socket and commands. Commands written before the handshake is through wait in it.
    func handler(host: String) throws -> NIOSSLClientHandler {
        // Certificates name hosts; for a bare address there is no name to send, and the address itself is checked.
        let isName = (try? SocketAddress(ipAddress: host, port: 0)) == nil
        return try NIOSSLClientHandler(context: self.context, serverHostname: isName ? host : nil)
    }
}

package enum RedisTLSError: Error, Equatable {
    /// The file is not there, or holds no certificate. The configuration is wrong: trying again is useless.
    case unreadable(authorityFile: String)
}
