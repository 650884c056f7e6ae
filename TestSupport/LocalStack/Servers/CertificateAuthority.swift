import Foundation

/// An authority of its own for one test, and the certificates it vouches for. Made by the `openssl` program.
package struct CertificateAuthority: Sendable {
    private let folder: String
    private let name: String

    /// PEM file of the authority itself.
    package var file: String { "\(self.folder)/\(self.name).pem" }

    /// - Parameters:
    ///   - folder: gets all files.
    ///   - name: tells two authorities in one folder apart.
    package init(named name: String, in folder: String) async throws {
        self.folder = folder
        self.name = name
        try await self.openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=\(name)", "-addext", "basicConstraints=critical,CA:TRUE", "-keyout", "\(name).key", "-out",
            "\(name).pem")
    }

    /// - Parameter alternativeName: as OpenSSL writes it: `IP:127.0.0.1`, `DNS:redis`.
    /// - Returns: paths of certificate and key, both PEM.
    package func certificate(for alternativeName: String) async throws -> (certificate: String, key: String) {
        let base = "\(self.folder)/\(self.name)-\(alternativeName.filter { $0.isLetter || $0.isNumber })"
        try await self.openssl(
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=server",
            "-keyout", base + ".key", "-out", base + ".csr")
        try "subjectAltName=\(alternativeName)\nextendedKeyUsage=serverAuth\n".write(
            toFile: base + ".ext", atomically: true, encoding: .utf8)
        try await self.openssl(
            "x509", "-req", "-in", base + ".csr", "-CA", self.file, "-CAkey", "\(self.folder)/\(self.name).key",
            "-set_serial", "2", "-days", "2", "-extfile", base + ".ext", "-out", base + ".pem")
        return (base + ".pem", base + ".key")
    }

    private func openssl(_ arguments: String...) async throws {
        try await Command(
            "/usr/bin/openssl", arguments, folder: self.folder, log: self.folder + "/openssl.log"
        ).run(name: "openssl")
    }
}
