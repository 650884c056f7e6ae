import Foundation
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore
@testable import WhisperTerminal

/// The passphrase behind the door of `whisper app`.
extension AppDoorTests {
    @Test func wrongPassphrasesWaitLongerAndLonger() {
        var tries = PassphraseTries()
        var now = ContinuousClock.now
        for _ in 0..<PassphraseTries.freeMax { #expect(tries.begin(at: now) == nil) }
        for seconds in [30, 60, 120, 240, 480, 900, 900, 900, 900, 900] {
            #expect(tries.begin(at: now) == .seconds(seconds))
            #expect(tries.begin(at: now + .seconds(seconds - 1)) == .seconds(1))
            now += .seconds(seconds)
            #expect(tries.begin(at: now) == nil)
        }
        // The right one is as if nothing had been.
        now += PassphraseTries.waitMax
        #expect(tries.begin(at: now) == nil)
        tries.passed()
        for _ in 0..<PassphraseTries.freeMax { #expect(tries.begin(at: now) == nil) }
        #expect(tries.begin(at: now) == PassphraseTries.firstWait)
    }

    private func post(_ world: World, _ path: String, _ body: String) async throws -> Int {
        try await self.status(world, "POST \(path)", world.headers(isPost: true), body)
    }

    private var key: String { self.hosts.folder.path + "/ann/" + Profile.keyName }

    @Test func aStoreWaitsForItsPassphrase() async throws {
        let world = try await self.world()
        let id = try #require(world.core.identity)
        #expect(try await self.post(world, "/seal", "{}") == 204)
        #expect(FileManager.default.fileExists(atPath: self.key))
        #expect(try await self.post(world, "/seal", #"{"passphrase":"right"}"#) == 204)
        #expect(!FileManager.default.fileExists(atPath: self.key))
        await world.http.close()
        await world.core.close()
        // A crash after sealing leaves a key that opens nothing.
        _ = try KeyFile.make(in: self.hosts.folder.path + "/ann")
        #expect(try KeyFile.beside(self.hosts.folder.path + "/ann") == nil)

        let server = self.hosts.server
        let waiting = try Core.waiting(
            CoreConfiguration(folder: self.hosts.folder.path + "/ann", server: "ws://127.0.0.1:2", keyKind: .passphrase)
        ) { _ in server }
        let again = try await self.world(waiting)
        let state = try await self.exchange(again, "GET /app", again.headers(isPost: false))
        #expect(state.contains(#""state":"needsPassphrase""#) && state.contains(#""seal":"passphrase""#), "\(state)")
        #expect(try await self.post(again, "/seal", #"{"passphrase":"right"}"#) == 409)
        #expect(try await self.post(again, "/session/unlock", #"{"passphrase":"wrong"}"#) == 403)
        #expect(waiting.isWaiting)
        #expect(try await self.post(again, "/session/unlock", #"{"passphrase":"right"}"#) == 204)
        #expect(waiting.identity == id)
        #expect(!FileManager.default.fileExists(atPath: self.key))
        await again.http.close()
        await waiting.close()
    }
}
