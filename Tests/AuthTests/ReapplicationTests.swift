import AuthTestKit
import ClusterContract
import Contract
import Foundation
import LocalStack
import OperatorsCore
import Store
import Testing
import TestKit

@testable import AuthCore

/// A restore brings nobody back (contract §20.4).
@Suite(.serialized, .timeLimit(.minutes(20))) struct ReapplicationTests {
    private let alice = TestIdentity(1)
    private let bob = TestIdentity(2)
    private static let nobody = Reapplication.Outcome()

    /// The files of a test, beside its database.
    private struct Marks {
        let folder: TemporaryFolder
        var path: String { self.folder.path + "/erasures" }

        init() throws { self.folder = try TemporaryFolder(named: "marks") }

        /// The file of a database.
        func keep(_ bench: AuthBench) async throws {
            var text = ""
            try await ErasureMarks(bench.pool).write { text += $0 }
            try self.write(text)
        }

        func write(_ text: some Sequence<Character>) throws {
            try String(text).write(toFile: self.path, atomically: true, encoding: .utf8)
        }

        var text: String {
            get throws { try String(contentsOfFile: self.path, encoding: .utf8) }
        }
    }

    private func run(_ body: (AuthBench, Marks) async throws -> Void) async throws {
        let marks = try Marks()
        defer { marks.folder.remove() }
        try await AuthBench.run { try await body($0, marks) }
    }

    private func reapply(_ bench: AuthBench, _ marks: Marks) async throws -> Reapplication.Outcome {
        try await Reapplication(pool: bench.pool, clock: bench.clock, forget: ErasedRecords.forget).run(marks.path)
    }

    /// As a database of before the erasures: the tests log the people in again.
    private func restore(_ bench: AuthBench) async throws {
        try await bench.sql("DELETE FROM auth.tombstones; DELETE FROM auth.erasures")
    }

    private func leave(_ somebody: TestIdentity, _ bench: AuthBench) async throws {
        let login = try await bench.login(somebody)
        _ = try await bench.leave(somebody, login.session).reply("account_deleted")
    }

    private func isErased(_ somebody: TestIdentity, _ bench: AuthBench) async throws -> Bool {
        let challenge = try await bench.challenge(somebody)
        return await bench.send("register_proof", somebody.proof(challenge.id, signing: challenge.bytes)).reason
            == .erased
    }

    private func identities(_ bench: AuthBench) async throws -> Set<String> {
        Set(try await bench.sql("SELECT whisper_id FROM auth.identities").split(separator: "\n").map(String.init))
    }

    @Test func whomARestoredDatabaseHasAgainIsErasedAnew() async throws {
        try await self.run { bench, marks in
            try await self.leave(self.alice, bench)
            try await marks.keep(bench)
            // Somebody who left and came anew, with other keys, is somebody else.
            let anew = TestIdentity(3)
            _ = try await bench.login(anew)
            _ = try await bench.login(self.bob)
            try await self.restore(bench)
            _ = try await bench.login(self.alice)
            let (id, other) = (self.alice.id(), self.bob.id().bits)
            try await bench.sql(
                """
                INSERT INTO auth.bans (whisper_id, reason, created_at) VALUES (\(id.bits), 'spam', now());
                INSERT INTO auth.reports (id, reporter, target, reason, note, status, created_at)
                VALUES (gen_random_uuid(), \(id.bits), \(other), 'spam', 'bob', 'open', now()),
                    (gen_random_uuid(), \(other), \(id.bits), 'spam', 'alice', 'open', now())
                """)

            #expect(try await self.reapply(bench, marks) == .init(marks: 3, added: 3, erased: 1))
            #expect(try await self.identities(bench) == ["\(anew.id().bits)", "\(other)"])
            #expect(try await self.isErased(self.alice, bench))
            #expect(
                try await bench.sql("SELECT whisper_id, sent_mail, by, done FROM auth.erasures")
                    == "\(id.bits)|withdraw|person|{}")
            #expect(try await bench.sql("SELECT count(*) FROM auth.erasures_open") == "1")
            #expect(try await bench.sql("SELECT count(*) FROM auth.bans") == "0")
            #expect(try await bench.sql("SELECT reporter IS NULL, note IS NULL FROM auth.reports") == "t|t")
            let before = try await bench.sql("SELECT * FROM auth.tombstones ORDER BY mark")
            // Twice, and by a file that has nothing new.
            #expect(try await self.reapply(bench, marks) == .init(marks: 3))
            try await marks.keep(bench)
            #expect(try await self.reapply(bench, marks) == .init(marks: 3))
            #expect(try await bench.sql("SELECT * FROM auth.tombstones ORDER BY mark") == before)
            #expect(try await bench.sql("SELECT count(*) FROM auth.erasures") == "1")
        }
    }

    /// The process ended when the marks were there, and the identity was too. Or one of its marks was missing in the file.
    @Test func theNextRunGoesOnWhereOneEnded() async throws {
        try await self.run { bench, marks in
            try await self.leave(self.alice, bench)
            let kept = try await bench.sql("SELECT string_agg(quote_literal(mark), ',') FROM auth.tombstones")
                .split(separator: ",").map(String.init)
            for mark in kept {
                try await self.restore(bench)
                _ = try await bench.login(self.alice)
                try await bench.sql("INSERT INTO auth.tombstones VALUES (\(mark), 20000)")
                try await marks.keep(bench)
                #expect(try await self.reapply(bench, marks) == .init(marks: 1, added: 0, erased: 1))
                #expect(try await bench.sql("SELECT count(*) FROM auth.tombstones") == "3")
            }
        }
    }

    @Test func aFileWithoutMarksErasesNobody() async throws {
        try await self.run { bench, marks in
            try await marks.keep(bench)
            #expect(try marks.text.split(separator: "\n").count == 3)
            _ = try await bench.login(self.bob)
            #expect(try await self.reapply(bench, marks) == Self.nobody)
            #expect(try await self.identities(bench).count == 1)
        }
    }

    @Test func aFileThatIsNotWholeOrNotOursChangesNothing() async throws {
        try await self.run { bench, marks in
            try await self.leave(self.alice, bench)
            try await self.leave(self.bob, bench)
            try await marks.keep(bench)
            let text = try marks.text
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            #expect(lines.count == 10, "six marks, three other lines, and nothing behind the last")
            try await self.restore(bench)
            _ = try await bench.login(self.alice)
            func isRefused(_ text: String, _ fault: MarksFault?) async throws {
                try marks.write(text)
                let thrown = await #expect(throws: MarksFault.self, "\(text)") { try await self.reapply(bench, marks) }
                if let fault { #expect(thrown == fault) }
                #expect(try await bench.sql("SELECT count(*) FROM auth.tombstones") == "0")
                #expect(try await self.identities(bench).count == 1)
            }
            let cluster = try await bench.sql("SELECT system_identifier FROM pg_control_system()")
            try await isRefused("", .otherFile)
            try await isRefused(text.replacing("erasures 1", with: "erasures 2"), .otherFile)
            try await isRefused(String(repeating: "x", count: 10_000), .otherFile)
            try await isRefused(
                text.replacing("cluster \(cluster)", with: "cluster 7"), .otherCluster(expected: Int64(cluster)!))
            // Ends too early, in each line and behind each.
            for length in stride(from: 0, to: text.count, by: 7) {
                try await isRefused(String(text.prefix(length)), nil)
            }
            try await isRefused(String(text.dropLast()), .damaged(line: 9))
            try await isRefused(text + "\n", .damaged(line: 10))
            // A line is missing, twice there, elsewhere, or has another digit.
            for line in 2..<8 {
                var changed = lines
                changed.remove(at: line)
                try await isRefused(changed.joined(separator: "\n"), nil)
                changed.insert(lines[line].replacing(" 2", with: " 3"), at: line)
                try await isRefused(changed.joined(separator: "\n"), .damaged(line: 9))
                let digit = lines[line].hasPrefix("1") ? "2" : "1"
                changed[line] = digit + lines[line].dropFirst()
                try await isRefused(changed.joined(separator: "\n"), nil)
            }
            var twice = lines
            twice.insert(lines[2], at: 2)
            try await isRefused(twice.joined(separator: "\n"), .damaged(line: 4))
            var swapped = lines
            swapped.swapAt(3, 4)
            try await isRefused(swapped.joined(separator: "\n"), .damaged(line: 5))
            try FileManager.default.removeItem(atPath: marks.path)
            await #expect(throws: MarksFault.unreadable(path: marks.path)) { try await self.reapply(bench, marks) }

            try marks.write(text)
            #expect(try await self.reapply(bench, marks) == .init(marks: 6, added: 6, erased: 1))
        }
    }

    /// More than fit into a portion, of both.
    @Test func manyAreReadInPortions() async throws {
        try await self.run { bench, marks in
            let (all, erased) = (2 * AuthLimits.marksPortion + 1, AuthLimits.marksPortion + 1)
            try await bench.sql(
                """
                INSERT INTO auth.identities (whisper_id, sign_key, enc_key, epoch)
                    SELECT n, sha256(('sign' || n)::bytea), sha256(('enc' || n)::bytea), 1 FROM generate_series(1, \(all)) n;
                INSERT INTO auth.tombstones
                    SELECT sha256(convert_to(E'whisper-erased\\n' || kind || E'\\n', 'UTF8') || key), 20000
                    FROM auth.identities i CROSS JOIN LATERAL (VALUES ('sign', sign_key), ('enc', enc_key)) k (kind, key)
                    WHERE whisper_id > \(all - erased)
                """)
            try await marks.keep(bench)
            try await bench.sql("TRUNCATE auth.tombstones")
            // A fault at the end of a long file is found before its beginning is used.
            let text = try marks.text
            try marks.write(text.dropLast(10))
            await #expect(throws: MarksFault.damaged(line: 3 + 2 * erased)) { try await self.reapply(bench, marks) }
            #expect(try await bench.sql("SELECT count(*) FROM auth.tombstones") == "0")
            try marks.write(text)
            #expect(
                try await self.reapply(bench, marks) == .init(marks: 2 * erased, added: 2 * erased, erased: erased))
            #expect(try await self.identities(bench).count == all - erased)
            #expect(try await bench.sql("SELECT count(*) FROM auth.tombstones") == "\(3 * erased)")
        }
    }

    /// `whisper-auth marks` and `whisper-auth reapply`, and the end of each.
    @Test func theProgramSaysHowItEnded() async throws {
        try await self.run { bench, marks in
            try await self.leave(self.alice, bench)
            func program(_ arguments: [String], _ url: String? = nil) async throws -> (status: Int32?, text: String) {
                let log = marks.folder.path + "/output"
                try? FileManager.default.removeItem(atPath: log)
                let url = url ?? bench.database.url(user: "whisper_auth")
                let process = try await ChildProcess.start(
                    Command(
                        StackConfiguration.programsBesideThisOne + "/whisper-auth", arguments,
                        environment: ["POSTGRES_URL": url], log: log), name: "whisper-auth")
                let end = await process.end()
                let text = try String(contentsOfFile: log, encoding: .utf8)
                if case .exited(let status) = end { return (status, text) }
                return (nil, text)
            }
            let (status, text) = try await program(["marks"])
            #expect(status == 0)
            try marks.write(text)
            try await self.restore(bench)
            _ = try await bench.login(self.alice)
            let done = try await program(["reapply", marks.path])
            #expect(done.status == 0)
            #expect(done.text == "3 marks, 3 of them new. Identities erased anew: 1.\n")
            #expect(try await self.identities(bench).isEmpty)
            try marks.write(text.dropLast(10))
            let refused = try await program(["reapply", marks.path])
            #expect(refused.status == 2 && refused.text.contains("damaged or incomplete"), "\(refused.text)")
            let away = "host=127.0.0.1 port=\(LoopbackPort.free()) dbname=whisper user=whisper_auth"
            for arguments in [["marks"], ["reapply", marks.path]] {
                #expect(try await program(arguments, away).status == 1)
            }
            let unknown = try await program(["reapply"])
            #expect(unknown.status == 78 && unknown.text.contains("reapply FILE"), "\(unknown.text)")
        }
    }
}
