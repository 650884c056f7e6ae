import ContractDocuments
import Foundation
import LocalStack
import Testing

/// Settings as the built services print them.
private enum Services {
    static func page() async throws -> SettingsPage {
        var lists: [(service: String, text: String)] = []
        for service in SettingsPage.services {
            let program = Command("\(StackConfiguration.programsBesideThisOne)/whisper-\(service)", ["settings"])
            lists.append((service, try await program.output(name: service)))
        }
        return SettingsPage(lists)
    }
}

@Suite struct SettingsPageTests {
    @Test func thePageIsWhatTheServicesSay() async throws {
        let committed = try? String(contentsOf: Folder.documents.appending(path: "settings.md"), encoding: .utf8)
        #expect(
            try await committed == Services.page().text,
            "docs/settings.md is not current: run `make documents` and commit docs/")
    }

    @Test func everyServiceHasSettings() async throws {
        let page = try await Services.page()
        for service in SettingsPage.services {
            #expect(
                page.rows.contains {
                    $0.services == [service] || $0.variable == "OPS_PORT" && $0.services.contains(service)
                })
        }
        #expect(Set(page.rows.map(\.variable)).count == page.rows.count, "one variable means two things")
    }

    /// A misspelt variable would be ignored in silence.
    @Test func theComposeFileSetsNothingElse() async throws {
        let page = try await Services.page()
        let blocks = try Deployment.composeBlocks()
        for service in SettingsPage.services {
            let block = try #require(blocks.first { $0.image == service }, "compose.yaml runs no \(service)")
            let known = Set(page.rows.filter { $0.services.contains(service) }.flatMap(\.variables))
            let unknown = block.variables.subtracting(known)
            #expect(unknown.isEmpty, "compose.yaml: \(service) has no setting \(unknown.sorted())")
            #expect(!block.variables.isEmpty)
        }
        let shared = try Deployment.composeEnvironment().subtracting(page.rows.flatMap(\.variables))
        #expect(shared.isEmpty, "compose.yaml: no service has a setting \(shared.sorted())")
    }

    @Test func theUnitsSetNothingElse() async throws {
        let page = try await Services.page()
        for service in SettingsPage.services {
            let unit = try Deployment.unit("whisper-\(service)@.service")
            let known = Set(page.rows.filter { $0.services.contains(service) }.flatMap(\.variables))
            let unknown = unit.variables.subtracting(known)
            #expect(unknown.isEmpty, "whisper-\(service)@.service: there is no setting \(unknown.sorted())")
            #expect(unit.variables.contains("INSTANCE"))
        }
        let migrations = try Deployment.unit("whisper-migrate.service")
        #expect(migrations.variables.isSubset(of: page.rows.flatMap(\.variables)))
        for service in SettingsPage.services where service != "gateway" {
            #expect(migrations.text.contains("whisper-\(service) migrate"))
        }
    }

    @Test func theImagesSetNothingElse() async throws {
        let known = try await Set(Services.page().rows.flatMap(\.variables))
        let variables = try Deployment.imageVariables()
        // The daemon is a client.
        #expect(variables.subtracting(known) == ["WHISPER_HOME"])
        #expect(variables.contains("OPS_PORT"))
    }
}

/// The variables that `compose.yaml`, `deploy/systemd` and `deploy/Containerfile` set, read from their text.
private enum Deployment {
    struct Block {
        /// The last part of the image's name.
        var image: String
        var variables: Set<String>
    }

    struct Unit {
        var text: String
        var variables: Set<String>
    }

    /// The services of the compose file whose images are the project's own.
    static func composeBlocks() throws -> [Block] {
        try self.blocks().compactMap { _, block in
            guard let image = block.firstMatch(of: #/image: localhost/whisper/(\w+):/#)?.1 else { return nil }
            return Block(image: String(image), variables: self.keys(in: block))
        }
    }

    /// Variables that all of them share.
    static func composeEnvironment() throws -> Set<String> {
        let block = try #require(try self.blocks().first { $0.name == "x-environment" }?.text)
        let keys = self.keys(in: block)
        #expect(!keys.isEmpty)
        return keys
    }

    static func unit(_ name: String) throws -> Unit {
        let text = try String(contentsOf: Folder.root.appending(path: "deploy/systemd/\(name)"), encoding: .utf8)
        let words = text.split(separator: "\n").filter { $0.hasPrefix("Environment=") }
            .flatMap { $0.dropFirst("Environment=".count).split(separator: " ") }
        return Unit(text: text, variables: Set(words.compactMap { $0.split(separator: "=").first.map(String.init) }))
    }

    static func imageVariables() throws -> Set<String> {
        let text = try String(contentsOf: Folder.root.appending(path: "deploy/Containerfile"), encoding: .utf8)
        let words = text.split(separator: "\n").filter { $0.hasPrefix("ENV ") }.flatMap {
            $0.dropFirst(4).split(separator: " ")
        }
        return Set(words.compactMap { $0.split(separator: "=").first.map(String.init) })
    }

    /// Sections of the file, and each service as one of its own: what begins at a name and ends before the next of its depth.
    private static func blocks() throws -> [(name: String, text: String)] {
        let text = try String(contentsOf: Folder.root.appending(path: "compose.yaml"), encoding: .utf8)
        var blocks: [(name: String, text: String)] = []
        for line in text.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("#") {
            if let name = line.firstMatch(of: #/^(?: {2})?([a-z-]+):/#)?.1 { blocks.append((String(name), "")) }
            guard !blocks.isEmpty else { continue }
            blocks[blocks.count - 1].text += line + "\n"
        }
        return blocks
    }

    /// Names in capitals before a colon: only environments have such keys.
    private static func keys(in block: String) -> Set<String> {
        Set(block.matches(of: #/(?:^|[\s{])([A-Z][A-Z0-9_]+):\s/#.anchorsMatchLineEndings()).map { String($0.1) })
    }
}
