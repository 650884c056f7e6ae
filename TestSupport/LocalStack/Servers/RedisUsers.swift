import Foundation

/// The logins of one stack's Redis: a user for each service with the rights of `deploy/redis/users.acl`, so that whatever runs
/// here has proved that they suffice.
struct RedisUsers: Sendable {
    private let passwords: [ServiceName: String]

    /// Passwords are made up.
    init() {
        self.passwords = Dictionary(
            uniqueKeysWithValues: ServiceName.allCases.map { ($0, StackConfiguration.randomToken()) })
    }

    /// The login of one service, as its environment.
    func environment(of service: ServiceName) -> [String: String] {
        ["REDIS_USER": service.rawValue, "REDIS_PASSWORD": self.passwords[service] ?? ""]
    }

    /// Writes the ACL file for redis-server. The default user is left as Redis makes it: on loopback, for whoever started all
    /// this.
    func write(to path: String) throws(LaunchError) {
        let template = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../deploy/redis/users.acl").standardizedFileURL
        do {
            let rules = try String(contentsOf: template, encoding: .utf8).split(separator: "\n")
                .filter { $0.hasPrefix("user ") && !$0.hasPrefix("user default ") }
                .map { self.filled(String($0)) }
            try (rules.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        } catch {
            throw .file(path, reason: error.localizedDescription)
        }
    }

    /// The password itself where a deployment has its digest.
    private func filled(_ rule: String) -> String {
        self.passwords.reduce(rule) { $0.replacing("#{\($1.key.rawValue)}", with: ">\($1.value)") }
    }
}
