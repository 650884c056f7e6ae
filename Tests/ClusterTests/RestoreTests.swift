import Foundation
import LocalStack
import TestKit
import Testing

/// The disk of Postgres is gone, and Redis empty: what was backed up is the cluster.
@Suite(.serialized, .cluster(.busy, mistreated)) struct RestoreTests {
    private static var stack: LocalStack { Cluster.stack }

    /// The running cluster's backups, with one base backup.
    private func withBackups(_ body: (PostgresBackups) async throws -> Void) async throws {
        let folder = try TemporaryFolder(named: "backup")
        defer { folder.remove() }
        let backups = try await PostgresBackups(of: Self.stack.postgres, in: folder.path + "/backup")
        try await backups.start()
        do {
            try await waitUntil("there is a base backup", within: readyTimeout, every: .milliseconds(100)) {
                !backups.bases.isEmpty
            }
            try await body(backups)
        } catch {
            Issue.record("\(error); the log says:\n\(backups.output)")
        }
        await backups.stop()
    }

    /// SIGKILL, the data folder removed, FLUSHALL; then the restored folder in its place.
    private func loseEverything(
        andRestoreFrom backups: PostgresBackups, _ arguments: [String] = [], isErasing: Bool = false
    ) async throws {
        await Self.stack.kill(.postgres)
        try FileManager.default.removeItem(atPath: Self.stack.postgres.folder)
        try await Self.stack.flushRedis()
        try await backups.restore(to: Self.stack.postgres.folder, arguments, isErasing: isErasing)
        try await Self.stack.start(.postgres)
    }

    /// WAL is received as it is written; what had been received when the disk died is all there. Nobody logs in again.
    @Test(.long) func whatWasReceivedComesBack() async throws {
        try await self.withBackups { backups in
            try await Cluster.calm()
            // All of it after the base backup.
            let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
            let token = newUUID()
            try await bob.ask("update_tokens", ["pushToken": token]).expecting("tokens_updated")
            let acknowledged = try await alice.text(bob)
            _ = try await bob.received(acknowledged)
            alice.client.cut()
            bob.acknowledge(acknowledged, from: alice.id)
            try await waitUntil("the receipt is stored", within: .seconds(20)) {
                try await Cluster.database("SELECT count(*) FROM router.outcomes WHERE message_id = '\(acknowledged)'")
                    == "1"
            }
            let answer = try await bob.text(alice)
            bob.client.cut()
            let carol = try await Cluster.phone(gateway: 1)
            let pending = try await carol.text(bob)
            let before = try await self.sessions()
            try await backups.catchUp()

            try await self.loseEverything(andRestoreFrom: backups)

            #expect(try await self.sessions() == before)
            #expect(
                try await Cluster.database("SELECT count(*) FROM auth.devices WHERE push_token = '\(token)'") == "1")
            let bobAgain = try await self.letIn(bob)
            #expect(try await bobAgain.pending().map(\.id) == [pending])
            bobAgain.acknowledge(pending, from: carol.id)
            #expect(try await carol.client.next("message_delivered", within: .seconds(30)).payload.id == pending)
            #expect(try await bobAgain.pending().isEmpty)
            let aliceAgain = try await self.letIn(alice)
            #expect(
                try await aliceAgain.client.next("message_delivered", within: .seconds(30)).payload.id == acknowledged)
            #expect(try await aliceAgain.pending().map(\.id) == [answer])
            try await Cluster.calm()
        }
    }

    /// Where Postgres waits for the backup (`synchronous_standby_names`), nothing accepted is lost, whenever its disk dies: under
    /// traffic, with whatever is under way.
    @Test func nothingAcceptedIsLostWherePostgresWaitsForTheBackup() async throws {
        try await self.withBackups { backups in
            try await Self.stack.postgres.run("ALTER SYSTEM SET synchronous_standby_names = 'whisper_backup'")
            try await Self.stack.postgres.run("SELECT pg_reload_conf()")
            try await waitUntil("Postgres waits for the backup", within: readyTimeout) {
                try await Self.stack.postgres.run(
                    "SELECT sync_state FROM pg_stat_replication WHERE application_name = 'whisper_backup'")
                    == "sync"
            }
            try await Cluster.calm()
            let traffic = try await Traffic(pairs: 4, seed: 7, on: Self.stack)
            try await traffic.run(onTheWay: .seconds(2)) { try await self.loseEverything(andRestoreFrom: backups) }
            // The restored server goes on in a timeline of its own, and is backed up anew by itself.
            try await waitUntil("there is another base backup", within: readyTimeout, every: .milliseconds(100)) {
                backups.bases.count == 2
            }
            try await Self.stack.postgres.run("ALTER SYSTEM RESET synchronous_standby_names")
            try await Self.stack.postgres.run("SELECT pg_reload_conf()")
        }
    }

    /// A person leaves after the time that is restored. By the marks beside the backup the person is erased again, everywhere
    /// (contract §20.4).
    @Test(.long) func nobodyComesBackWhoWasErased() async throws {
        try await self.withBackups { backups in
            try await Cluster.calm()
            let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
            try await CalmCluster.PersonalData.writes(alice, bob)
            try await CalmCluster.PersonalData.keepsThings(alice)
            try await CalmCluster.PersonalData.talks(alice, bob)
            let person = try DataMap.Traces(of: alice, tokens: [alice.token], pushToken: "push-\(newUUID())")
            let found = try await DataMap.search(person)
            let before = try await Cluster.database("SELECT clock_timestamp()")
            _ = try await CalmCluster.Leaving.leave(alice, sentMail: "keep")
            try await backups.keepMarks(of: Self.stack.databaseURL(role: "whisper_auth"))
            let file = try FileManager.default.attributesOfItem(atPath: backups.folder + "/erasures")
            #expect(file[.posixPermissions] as? Int == 0o600)
            try await backups.catchUp()

            let services = Self.stack.processes.filter { if case .service = $0 { true } else { false } }
            for service in services { await Self.stack.kill(service) }
            try await self.loseEverything(andRestoreFrom: backups, ["--until", before], isErasing: true)
            // The rows of other services wait for their sweeps.
            let restored = try await DataMap.search(person)
            #expect(restored.filter { $0.hasPrefix("auth.") } == ["auth.erasures.whisper_id"])
            #expect(restored.isSuperset(of: ["router.ledger.sender", "router.mailbox.sender", "calls.rooms.creator"]))
            #expect(restored.subtracting(found) == ["auth.erasures.whisper_id"])
            for service in services { try await Self.stack.start(service) }

            // The clock of the data is moved: the second pass comes 60 s after the decision, the ledger's walk a day after it.
            try await self.age(by: "100 seconds", until: "done @> array_remove(auth.erasure_parts(), 'ledger')")
            try await self.age(by: "24 hours", until: "finished_at IS NOT NULL")
            let last = try await DataMap.search(person)
            #expect(last.subtracting(["router.outcomes.recipient"]).isEmpty, "\(last.sorted())")
            try await CalmCluster.Leaving.isErased(alice.person)
            try await Cluster.calm()
        }
    }

    /// - Parameter condition: holds for every erasure when it returns.
    private func age(by time: String, until condition: String) async throws {
        _ = try await Cluster.database("UPDATE auth.erasures SET decided_at = decided_at - interval '\(time)'")
        try await waitUntil(condition, within: .seconds(120), every: .milliseconds(100)) {
            try await Cluster.database("SELECT bool_and(\(condition)) FROM auth.erasures") == "t"
        }
    }

    /// How many sessions are live, whoever has them.
    private func sessions() async throws -> String {
        try await Cluster.database("SELECT count(*) FROM auth.live_sessions")
    }

    /// On a new connection with the old token, once the services have found their servers again.
    private func letIn(_ phone: Phone) async throws -> Phone {
        var back = phone
        try await waitUntil("\(phone.id) is let in", within: .seconds(30), every: .milliseconds(200)) {
            back = try await Cluster.reconnected(phone, gateway: 2)
            let answer = try await back.ask("fetch_pending", within: .seconds(20))
            #expect(answer.type == "pending_messages" || answer.errorCode == "INTERNAL_ERROR")
            if answer.type != "pending_messages" { back.client.cut() }
            return answer.type == "pending_messages"
        }
        return back
    }
}
