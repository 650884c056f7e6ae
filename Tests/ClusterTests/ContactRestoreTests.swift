import Contract
import LocalStack
import Logging
import TestKit
import Testing
import WhisperClient

extension CalmCluster {
    /// Spec §14, with the client that people use: the twelve words bring the contact list back.
    @Suite struct ContactRestoring {
        @Test(.timeLimit(.minutes(20))) func theTwelveWordsBringTheContactsBack() async throws {
            let folder = try TemporaryFolder(named: "contacts")
            defer { folder.remove() }
            let words = Mnemonic.random()
            let people = [try await Cluster.phone(), try await Cluster.phone(), try await Cluster.phone()]
            let ids = try people.map { try #require(WhisperID($0.id)) }

            let first = try Device(words, in: folder.path + "/first")
            try await first.online { client, events in
                await Self.wait(events) { $0 == .restored(added: 0, missing: 0) }
                _ = try await client.with { try await $0.contacts.add(ids[0], name: "Bob", $0) }
                try await Self.backedUp(client, events)
            }
            let second = try Device(words, in: folder.path + "/second")
            try await second.online { client, events in
                await Self.wait(events) { $0 == .restored(added: 1, missing: 0) }
                #expect(try client.store.contacts.contacts().map(\.name) == ["Bob"])
                _ = try await client.with { try await $0.contacts.add(ids[1], name: "Carol", $0) }
                try await Self.backedUp(client, events)
            }
            // The first has not seen what the second wrote: it loses the race, merges and writes again.
            try await first.online { client, events in
                await Self.wait(events) { $0 == .caughtUp }
                _ = try await client.with { try await $0.contacts.add(ids[2], name: "Dave", $0) }
                try await Self.backedUp(client, events)
                #expect(try client.store.contacts.contacts().map(\.name) == ["Bob", "Carol", "Dave"])
            }
            let third = try Device(words, in: folder.path + "/third")
            try await third.online { client, events in
                await Self.wait(events) { $0 == .restored(added: 3, missing: 0) }
                let contacts = try client.store.contacts.contacts()
                #expect(contacts.map(\.name) == ["Bob", "Carol", "Dave"])
                for (contact, person) in zip(contacts, people) {
                    #expect(contact.keys.sign.bytes == person.person.keys.signPublicKey)
                }
            }
        }

        private static func wait(_ events: AsyncStream<ClientEvent>, _ isIt: (ClientEvent) -> Bool) async {
            for await event in events where isIt(event) { return }
            Issue.record("the client stopped first")
        }

        private static func backedUp(_ client: WhisperClient, _ events: AsyncStream<ClientEvent>) async throws {
            while try client.store.settings.backupChanges() > 0 { await Self.wait(events) { $0 == .backup(.written) } }
        }
    }
}

/// One profile, which may be opened again and again.
private struct Device {
    private let profile: Profile
    private let server: ServerAddress

    init(_ words: Mnemonic, in folder: String) throws {
        self.server = try #require(ServerAddress(Cluster.stack.endpoint))
        self.profile = try Profile.create(at: folder, mnemonic: words, server: self.server)
    }

    /// A client that runs while `body` does.
    func online(_ body: (WhisperClient, AsyncStream<ClientEvent>) async throws -> Void) async throws {
        let client = try WhisperClient(
            profile: self.profile, server: NetworkLink(self.server),
            logger: Logger(label: "device") { _ in SwiftLogNoOpLogHandler() })
        let events = await client.events()
        let running = Task { await client.run() }
        do {
            try await body(client, events)
        } catch {
            await client.close()
            _ = await running.value
            throw error
        }
        await client.close()
        _ = await running.value
    }
}
