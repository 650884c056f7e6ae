import Foundation

/// The installed Postgres, and who has to run it.
struct PostgresPrograms {
    /// Where `postgres`, `initdb` and `psql` stand.
    var folder: String
    /// The account to run the server as; nil for our own.
    var user: String?

    /// The newest version installed.
    static func installed() throws(LaunchError) -> PostgresPrograms {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        let usable = versions.filter { access("\(root)/\($0)/bin/initdb", X_OK) == 0 }
        guard let newest = usable.max(by: { (Int($0) ?? 0) < (Int($1) ?? 0) }) else {
            throw .missing(program: "postgresql")
        }
        return PostgresPrograms(folder: "\(root)/\(newest)/bin", user: geteuid() == 0 ? "postgres" : nil)
    }
}

/// An empty data directory, made once per account and version and copied from then on, which takes a tenth of
/// the time.
struct PostgresTemplate {
    let programs: PostgresPrograms

    /// Makes `folder`, which must not exist or be empty. It is whole or not there.
    func copy(to folder: String) async throws {
        let template = try await self.path()
        try makeFolder((folder as NSString).deletingLastPathComponent)
        let unfinished = folder + ".unfinished"
        try? FileManager.default.removeItem(atPath: unfinished)
        try await Command("/bin/cp", ["-a", "--reflink=auto", "-T", template, unfinished])
            .run(name: "copy of the empty database")
        guard rename(unfinished, folder) == 0 else {
            throw LaunchError.file(folder, reason: String(cString: strerror(errno)))
        }
    }

    private func path() async throws -> String {
        let version = self.programs.folder.split(separator: "/").dropLast().last ?? "0"
        let path = "/tmp/whisper-postgres-template-\(version)-\(geteuid())"
        var status = stat()
        let owner = self.programs.user.flatMap { getpwnam($0)?.pointee.pw_uid } ?? geteuid()
        if lstat(path, &status) == 0 {
            guard status.st_uid == owner else { throw LaunchError.file(path, reason: "belongs to somebody else") }
            return path
        }
        // Made beside its place and moved there in one step: others may be doing the same.
        let fresh = try TemporaryFolder(named: "initdb")
        defer { fresh.remove() }
        chown(fresh.path, owner, gid_t(bitPattern: -1))
        let log = fresh.path + "/initdb.log"
        let made = fresh.path + "/data"
        try await Command(
            self.programs.folder + "/initdb",
            [
                "-D", made, "-U", "postgres", "-A", "trust", "--no-sync", "--no-instructions",
                "--encoding=UTF8", "--locale=C",
            ],
            folder: fresh.path, user: self.programs.user, log: log
        ).run(name: "initdb")
        rename(made, path)  // fails when another was faster; theirs is as good
        return path
    }
}
