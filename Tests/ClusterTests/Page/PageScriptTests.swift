import Foundation
import LocalStack
import TestKit
import Testing

/// The page's modules by themselves, in the browser that runs them: scripts of `Scripts/` import them as the page does.
extension PageCluster {
    @Test func theModulesAgreeWithTheVectors() async throws {
        let vectors = try Data(contentsOf: Self.root.appending(path: "docs/vectors/live.json"))
        let identities = try Data(contentsOf: Self.root.appending(path: "docs/vectors/keys.json"))
        let faults = try await Self.run(
            "vectors.js",
            [try JSON(parsing: Array(vectors)), try JSON(parsing: Array(identities))["identities"] ?? .null])
        #expect(faults == .array([]))
    }

    @Test func linesStandInTheirPlaces() async throws {
        let faults = try await Self.run("text.js", [])
        #expect(faults == .array([]))
    }

    /// Any loss, repetition and delay: all end with the same text and each line once.
    @Test func theMachineHoldsInEveryWorld() async throws {
        let faults = try await Self.run("machine.js", [], seeds: [.integer(0), .integer(300)])
        #expect(faults == .object([:]))
    }

    /// Any coming and going: in the end each is connected with each.
    @Test func everybodyIsConnectedInEveryWorld() async throws {
        let faults = try await Self.run("mesh.js", [], seeds: [.integer(0), .integer(500)])
        #expect(faults == .object([:]))
    }

    /// Any breaking, coming, going and loading again: whoever was there has each message once, in order, and is said to have it.
    @Test func nobodyMissesAMessageInAnyWorld() async throws {
        let vectors = try Data(contentsOf: Self.root.appending(path: "docs/vectors/talk.json"))
        let faults = try await Self.run(
            "talk.js", [try JSON(parsing: Array(vectors))], seeds: [.integer(0), .integer(500)])
        #expect(faults == .object([:]))
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// Runs a script with `values`, the folder of the modules, and `seeds`.
    private static func run(_ name: String, _ values: [JSON], seeds: [JSON] = []) async throws -> JSON {
        let script = try String(
            contentsOf: self.root.appending(path: "Tests/ClusterTests/Page/Scripts/\(name)"), encoding: .utf8)
        var result = JSON.null
        try await Browser.open { browser in
            try await browser.go(to: Cluster.stack.publicURL + "/listen/\(newUUID())")
            let folder = try await browser.value(
                of: "return new URL('.', document.querySelector('script').src).pathname.slice(0, -1)")
            result = try await browser.asyncValue(of: script, values + [folder] + seeds)
        }
        return result
    }
}
