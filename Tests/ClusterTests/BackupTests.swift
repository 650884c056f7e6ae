import Foundation
import LocalStack
import Testing

/// `deploy/backup` with one Postgres: a complete backup can be restored, whatever happened meanwhile.
@Suite(.serialized) struct BackupTests {
    /// A server with a table, its backups, and a place for both.
    private struct Bench {
        let server: PostgresServer
        let backups: PostgresBackups
        let folder: TemporaryFolder

        func insert() async throws {
            try await self.server.run("INSERT INTO notes DEFAULT VALUES; SELECT pg_switch_wal()")
        }

        /// Restores, starts a server there, and counts.
        func rowsRestored(_ arguments: [String] = []) async throws -> Int? {
            let folder = self.folder.path + "/again-\(UInt32.random(in: 0...UInt32.max))"
            try await self.backups.restore(to: folder, arguments)
            let server = PostgresServer(folder: folder)
            try await server.start()
            let rows = try await server.run("SELECT count(*) FROM notes")
            await server.kill()
            await server.stop()
            return Int(rows)
        }

        /// Offers marks of erased identities to be kept, as `whisper-auth marks` prints them.
        func keepMarks(_ count: Int, of cluster: String) async throws {
            let lines = (0..<count).map { String(repeating: "0", count: 63) + "\($0) 20785\n" }.joined()
            let end = "end \(count) \(String(repeating: "0", count: 64))\n"
            let text = "whisper-erasures 1\ncluster \(cluster)\n\(lines)\(end)"
            let file = self.folder.path + "/marks"
            try text.write(toFile: file, atomically: false, encoding: .utf8)
            let own = self.folder.path + "/backup"
            try await Command(
                "/bin/sh", ["-c", #""$0" marks <"$1""#, own + "/scripts/whisper-backup", file],
                environment: ["BACKUP_SERVER": "none", "BACKUP_FOLDER": self.backups.folder], log: own + "/backup.log"
            ).run(name: "marks")
        }

        func takesBase(_ count: Int) async throws {
            try await waitUntil("there are \(count) base backups", within: readyTimeout, every: .milliseconds(100)) {
                self.backups.bases.count == count
            }
        }
    }

    private func withBench(_ environment: [String: String] = [:], _ body: (Bench) async throws -> Void) async throws {
        let folder = try TemporaryFolder(named: "backup")
        defer { folder.remove() }
        let server = PostgresServer(folder: folder.path + "/data")
        try await server.start()
        try await server.run("CREATE TABLE notes (id serial PRIMARY KEY)")
        let backups = try await PostgresBackups(of: server, in: folder.path + "/backup", environment: environment)
        do {
            try await body(Bench(server: server, backups: backups, folder: folder))
        } catch {
            Issue.record("\(error); the log says:\n\(backups.output)")
        }
        await backups.stop()
        await server.kill()
        await server.stop()
    }

    @Test(.long) func onlyWhatIsNeededIsKept() async throws {
        try await self.withBench(["BACKUP_KEEP": "2"]) { bench in
            try await bench.backups.start()
            try await bench.takesBase(1)
            let first = bench.backups.bases
            for _ in 0..<3 {
                for _ in 0..<2 { try await bench.insert() }
                try await bench.backups.catchUp()
                try await bench.backups.takeBase()
            }
            let bases = bench.backups.bases
            #expect(bases.count == 2)
            #expect(Set(bases).isDisjoint(with: first))
            // Segments from before the older of the two are gone, and none that it needs.
            let oldest = try String(contentsOfFile: "\(bench.backups.folder)/base/\(bases[0])/facts", encoding: .utf8)
            let segment = try #require(oldest.firstMatch(of: #/first_segment (\w+)/#)?.1)
            let segments = bench.backups.files("wal").filter { !$0.hasPrefix(".") }.map { $0.prefix(24) }
            #expect(segments.min() == segment)
            #expect(try await bench.rowsRestored(["--base", bases[0]]) == 6)
            #expect(bench.backups.metric("count") == 2)
        }
    }

    /// The newest stays, however old it is.
    @Test func oldOnesGoByTheirAge() async throws {
        try await self.withBench { bench in
            try await bench.backups.takeBase()
            let name = try #require(bench.backups.bases.first)
            for old in ["20200101T000000Z", "20200102T000000Z"] {
                try FileManager.default.copyItem(
                    atPath: "\(bench.backups.folder)/base/\(name)", toPath: "\(bench.backups.folder)/base/\(old)")
            }
            try await bench.backups.takeBase()
            #expect(bench.backups.bases.count == 2)
            #expect(bench.backups.bases.first == name)
        }
    }

    @Test func aHalfWrittenBackupIsNone() async throws {
        try await self.withBench { bench in
            // As slowly as it may be, so that it is under way for as long as we need.
            let attempt = try await bench.backups.beginBase(["BACKUP_RATE_MAX": "32k"])
            try await waitUntil("it has begun", within: readyTimeout) {
                bench.backups.files("base").contains { !bench.backups.files("base/\($0)/archive").isEmpty }
            }
            await attempt.process.kill()
            #expect(bench.backups.bases.isEmpty)
            #expect(!bench.backups.files("base").isEmpty, "something was left behind")
            await #expect(throws: LaunchError.self) { try await bench.rowsRestored() }
            // The attempt's child processes notice its end only when they write, and hold the lock until then.
            try await waitUntil("nothing of it is left", within: readyTimeout, every: .milliseconds(200)) {
                (try? await bench.backups.takeBase()) != nil
            }
            #expect(bench.backups.files("base") == bench.backups.bases)
            #expect(try await bench.rowsRestored() == 0)
        }
    }

    @Test func aDamagedBackupIsNotRestored() async throws {
        try await self.withBench { bench in
            try await bench.backups.takeBase()
            let file = "\(bench.backups.folder)/base/\(bench.backups.bases[0])/backup_manifest"
            let manifest = try String(contentsOfFile: file, encoding: .utf8)
            try manifest.replacing("\"Checksum\": \"", with: "\"Checksum\": \"0", maxReplacements: 1)
                .write(toFile: file, atomically: false, encoding: .utf8)
            await #expect(throws: LaunchError.self) { try await bench.rowsRestored() }
        }
    }

    /// A restore without the marks of erased identities must be asked for. Marks that are not whole do not replace those of before.
    @Test func marksAreKeptAndAskedFor() async throws {
        try await self.withBench { bench in
            try await bench.backups.takeBase()
            let path = bench.backups.folder + "/erasures"
            let restored = bench.folder.path + "/restored"
            await #expect(throws: LaunchError.self) { try await bench.backups.restore(to: restored, isErasing: true) }
            #expect(bench.backups.output.contains("say --without-erasures"))
            try "of before".write(toFile: path, atomically: true, encoding: .utf8)
            let nowhere = "host=127.0.0.1 port=\(LoopbackPort.free()) dbname=whisper user=whisper_auth"
            await #expect(throws: LaunchError.self) { try await bench.backups.keepMarks(of: nowhere) }
            #expect(bench.backups.output.contains("these marks are not whole"))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "of before")
            #expect(bench.backups.files("").filter { $0.hasPrefix(".erasures") }.isEmpty)
        }
    }

    /// A list of another database, or one that lacks a mark, does not replace the file, until a restore without it was asked for.
    @Test func marksAreNotLost() async throws {
        try await self.withBench { bench in
            func kept(_ name: String = "erasures") throws -> Int {
                let text = try String(contentsOfFile: "\(bench.backups.folder)/\(name)", encoding: .utf8)
                return text.matches(of: #/ 20785/#).count
            }
            // Its account makes the folders.
            try await bench.backups.takeBase()
            try await bench.keepMarks(3, of: "5")
            await #expect(throws: LaunchError.self) { try await bench.keepMarks(0, of: "5") }
            #expect(bench.backups.output.contains("3 marks of"))
            await #expect(throws: LaunchError.self) { try await bench.keepMarks(4, of: "6") }
            #expect(bench.backups.output.contains("of another database, not of 5"))
            #expect(try kept() == 3)
            for _ in 0..<2 { try await bench.keepMarks(4, of: "5") }
            #expect(try (kept(), kept("erasures.earlier")) == (4, 3))

            try await bench.backups.takeBase()
            #expect(try #require(bench.backups.metric("erasures_timestamp_seconds")) > 1_700_000_000)
            #expect(try await bench.rowsRestored() == 0)
            let aside = try #require(bench.backups.files("").first { $0.hasPrefix("erasures.before-") })
            #expect(try kept(aside) == 4)
            try "6".write(toFile: bench.backups.folder + "/system", atomically: false, encoding: .utf8)
            await #expect(throws: LaunchError.self) { try await bench.keepMarks(1, of: "5") }
            try await bench.keepMarks(1, of: "6")
            #expect(try kept() == 1)
        }
    }

    @Test func aPointInTimeCanBeChosen() async throws {
        try await self.withBench { bench in
            try await bench.backups.start()
            try await bench.takesBase(1)
            try await bench.insert()
            let time = try await bench.server.run("SELECT clock_timestamp()")
            try await bench.insert()
            try await bench.backups.catchUp()
            #expect(try await bench.rowsRestored(["--until", time]) == 1)
            #expect(try await bench.rowsRestored() == 2)
        }
    }

    /// Without its slot the server may have removed what was not received: a new base backup closes the gap at once.
    @Test func aLostSlotBeginsAnew() async throws {
        try await self.withBench { bench in
            try await bench.backups.start()
            try await bench.takesBase(1)
            await bench.backups.stop()
            try await bench.server.run("SELECT pg_drop_replication_slot('whisper_backup')")
            try await bench.insert()
            try await bench.backups.start()
            try await bench.takesBase(2)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: bench.backups.folder).contains {
                    $0.hasPrefix("wal.")
                })
            try await bench.insert()
            try await bench.backups.catchUp()
            #expect(try await bench.rowsRestored() == 2)
        }
    }

    @Test func backupsOfTwoDatabasesAreNotMixed() async throws {
        try await self.withBench { bench in
            try await bench.backups.start()
            try await bench.takesBase(1)
            await bench.backups.stop()
            try "7000000000000000001".write(
                toFile: bench.backups.folder + "/system", atomically: false, encoding: .utf8)
            try await bench.backups.start()
            try await waitUntil("it refuses", within: readyTimeout) {
                bench.backups.output.contains("holds backups of another database")
            }
            #expect(try await bench.server.run("SELECT count(*) FROM pg_replication_slots WHERE active") == "0")
            #expect(bench.backups.bases.count == 1)
        }
    }
}
