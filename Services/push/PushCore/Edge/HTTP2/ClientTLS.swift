package import NIOSSL

/// TLS requirements for the servers that this process connects to.
package enum ClientTLS {
    /// - Parameter authorities: a PEM file of further authorities to trust, beside the system's.
    package static func context(authorities: String?) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["h2"]
        configuration.minimumTLSVersion = .tlsv12
        if let authorities { configuration.additionalTrustRoots = [.file(authorities)] }
        return try NIOSSLContext(configuration: configuration)
    }
}
