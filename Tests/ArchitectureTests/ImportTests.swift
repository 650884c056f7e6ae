import Testing

/// Which module may import which. Data goes one way: client, gateway, bus, service, store; no import points backwards.
///
/// A module that is in no row may not be imported: a new dependency is a new word in here.
private enum Architecture {
    /// The system's own, free for all except `Contract`.
    static let system: Set = ["Glibc", "Synchronization", "Dispatch"]

    private static let nio: Set = ["NIOCore", "NIOPosix"]

    static let rules: [String: Set<String>] = [
        // Shared
        "Contract": ["Glibc", "Darwin"],
        "ClusterContract": ["Contract"],
        "ContractSchema": ["Contract"],
        "ContractDocuments": ["Contract", "ContractSchema", "WhisperClient", "WhisperCore"],
        "Telemetry": ["Contract", "ClusterContract", "Logging", "Metrics"],
        "Bus": ["Contract", "ClusterContract"],
        "RedisBus": nio.union([
            "Bus", "Contract", "ClusterContract", "Telemetry", "CHiredis", "Logging", "DequeModule", "NIOSSL",
        ]),
        "Store": ["Contract", "Telemetry", "CLibPQ", "Logging"],
        "Jobs": ["Contract", "ClusterContract", "Bus", "Store", "Telemetry", "Logging"],
        "ServerCrypto": ["Contract", "COpenSSL", "CSodium"],
        "ServiceRuntime": nio.union([
            "Contract", "ClusterContract", "Telemetry", "CRevision", "Logging", "Metrics", "ServiceLifecycle",
            "Configuration", "Hummingbird",
            "HummingbirdCore",
            "NIOHTTP1",
        ]),
        "HTTPAccess": core.union(["Hummingbird"]),
        // Services
        "GatewayCore": nio.union([
            "Contract", "ClusterContract", "Bus", "Telemetry", "ServerCrypto", "Logging", "DequeModule",
        ]),
        "AuthCore": core.union(["Jobs", "HTTPAccess", "Hummingbird"]),
        "OperatorsCore": core.union(nio).union(["HTTPAccess", "Hummingbird", "NIOSSL"]),
        "RouterCore": core.union(["Jobs"]),
        "AttachmentsCore": core.union(nio).union(["HTTPAccess", "Hummingbird", "NIOHTTP1", "NIOSSL"]),
        "PushCore": nio.union(core).union(["Jobs", "CNghttp2", "DequeModule", "NIOSSL", "NIOTLS"]),
        "Participants": core.union(["Jobs"]),
        "CallsCore": core.union(["Participants", "Jobs", "HTTPAccess", "Hummingbird", "WebPages"]),
        "ConversationsCore": core.union(["Participants", "Jobs", "HTTPAccess", "Hummingbird"]),
        "RoomsCore": core.union(["Participants", "Jobs", "HTTPAccess", "Hummingbird"]),
        "gateway": nio.union(["GatewayCore", "ServiceRuntime", "RedisBus"]),
        "auth": main.union(["AuthCore", "OperatorsCore", "HTTPAccess", "Contract"]),
        "router": main.union(["RouterCore"]),
        "push": main.union(["PushCore"]),
        "attachments": main.union(["AttachmentsCore", "HTTPAccess", "Telemetry"]),
        "calls": main.union(["CallsCore", "ConversationsCore", "RoomsCore", "Participants"]),
        // The other end of the wire
        "SQLite": ["CSQLite"],
        "WhisperClient": nio.union([
            "Contract", "CSealedFile", "CSodium", "COpenSSL", "Logging", "NIOHTTP1", "NIOWebSocket", "NIOSSL", "SQLite",
            "DequeModule", "FoundationEssentials",
        ]),
        "WhisperCore": ["WhisperClient", "Contract", "ContractSchema", "Logging"],
        "WhisperCoreC": ["WhisperCore", "CWhisperCore"],
        "TerminalText": ["CQREncode"],
        "WhisperTerminal": nio.union([
            "WhisperClient", "WhisperCore", "TerminalText", "Contract", "Logging", "ArgumentParser",
            "FoundationEssentials", "NIOHTTP1", "CAppAssets", "PlainSource",
        ]),
        "PlainSource": [],
        "WebPages": ["Contract", "ServerCrypto", "CWebAssets", "PlainSource"],
        "WhisperAdmin": ["Contract", "TerminalText", "ArgumentParser", "Foundation", "FoundationNetworking"],
        // Starting and loading real servers
        "ContractTool": ["Contract", "ContractDocuments", "Foundation"],
        "LocalStack": ["Foundation"],
        "LocalCluster": ["LocalStack", "WhisperClient", "Contract", "Logging", "Foundation"],
        "TestKit": nio.union(["Contract", "ClusterContract", "Bus", "LocalStack", "CSodium", "Foundation"]),
        "AuthTestKit": core.union([
            "AuthCore", "OperatorsCore", "HTTPAccess", "TestKit", "LocalStack", "CSodium", "Hummingbird", "Foundation",
            "Testing",
        ]),
        "PushPeers": nio.union([
            "CNghttp2", "Contract", "LocalStack", "ServerCrypto", "NIOSSL", "NIOTLS", "Foundation",
        ]),
        "StoreModel": ["Contract", "ClusterContract", "Store"],
        "Simulation": nio.union(core).union([
            "GatewayCore", "RouterCore", "AuthCore", "PushCore", "CallsCore", "ConversationsCore", "RoomsCore",
            "Participants",
            "WhisperClient",
            "StoreModel", "TestKit", "CSimulation",
            "ArgumentParser", "_Concurrency",
        ]),
        "LoadTool": nio.union([
            "Contract", "GatewayCore", "PushCore", "WhisperClient", "WhisperCore", "LocalStack",
            "TestKit", "PushPeers",
            "CSodium", "NIOEmbedded", "NIOWebSocket", "NIOSSL", "NIOHTTP2", "NIOHPACK", "Logging", "ArgumentParser",
            "Histogram", "Foundation",
        ]),
        "Chaos": nio.union([
            "Contract", "ClusterContract", "WhisperClient", "WhisperCore", "LocalStack", "TestKit", "PushPeers",
            "Logging", "Foundation",
        ]),
        "ChaosTool": ["Chaos", "Contract", "LocalStack", "ArgumentParser", "Foundation"],
        // The program of docs/first-app.md
        "FirstApp": ["WhisperCore"],
        // Programs of one file, which `make sanitize` compiles
        "Sanitizer": ["Foundation"],
    ]

    private static let core: Set = [
        "Contract", "ClusterContract", "Bus", "Store", "Telemetry", "ServerCrypto", "Logging",
    ]
    private static let main: Set = ["ServiceRuntime", "RedisBus", "Store"]

    /// C libraries and drivers have one door each, tests included.
    static let doors: [String: Set<String>] = [
        "CHiredis": ["RedisBus"],
        "CLibPQ": ["Store"],
        "COpenSSL": ["ServerCrypto", "WhisperClient"],
        "CSealedFile": ["WhisperClient", "SealedFileTests"],
        "CSQLite": ["SQLite", "SealedFileTests", "ClientTests"],
        "CSodium": ["ServerCrypto", "WhisperClient", "LoadTool", "TestKit", "AuthTestKit", "ServerCryptoTests"],
        "CNghttp2": ["PushCore", "PushPeers"],
        "CQREncode": ["TerminalText"],
        "CRevision": ["ServiceRuntime"],
        "CWebAssets": ["WebPages"],
        "CAppAssets": ["WhisperTerminal"],
    ]
}

@MainActor @Suite struct ImportTests {
    @Test func theSourcesAreFound() {
        #expect(Set(SourceTree.files.map(\.target)).isSuperset(of: Architecture.rules.keys))
    }

    @Test func everyTargetOutsideTheTestsHasARule() {
        for file in SourceTree.files where !file.isTest {
            #expect(
                Architecture.rules[file.target] != nil,
                "\(file.path): the target \(file.target) is in no row of the table")
        }
    }

    @Test func everyTargetImportsWhatItMay() {
        for file in SourceTree.files {
            guard let rule = Architecture.rules[file.target] else { continue }
            let allowed = file.target == "Contract" ? rule : rule.union(Architecture.system)
            for (line, module) in file.imports {
                #expect(allowed.contains(module), "\(file.path):\(line): \(file.target) must not import \(module)")
            }
        }
    }

    @Test func everyCLibraryHasItsDoor() {
        for file in SourceTree.files {
            for (line, module) in file.imports {
                guard let doors = Architecture.doors[module] else { continue }
                #expect(doors.contains(file.target), "\(file.path):\(line): \(module) is behind \(doors.sorted())")
            }
        }
    }

    @Test func noCoreImportsAnother() {
        for file in SourceTree.files where file.target.hasSuffix("Core") {
            for (line, module) in file.imports
            where module != file.target && module != "HummingbirdCore" && module != "NIOCore" {
                #expect(!module.hasSuffix("Core"), "\(file.path):\(line)")
            }
        }
    }

    /// The tests of one service do not lean on another service. A service may have two cores; simulations play all of them.
    @Test func noTestImportsTheCoresOfTwoServices() {
        let owners = Dictionary(
            SourceTree.files.compactMap { file in file.service.map { (file.target, $0) } },
            uniquingKeysWith: { first, _ in first })
        #expect(owners["AuthCore"] == "auth" && owners["OperatorsCore"] == "auth" && owners["RouterCore"] == "router")
        for target in Set(SourceTree.files.filter(\.isTest).map(\.target)) where target != "SimulationTests" {
            let services = SourceTree.files.filter { $0.target == target }.flatMap(\.imports).compactMap {
                owners[$0.module]
            }
            #expect(Set(services).count <= 1, "\(target): \(Set(services).sorted())")
        }
    }

    /// The reader of imports itself: a rule that sees nothing would always hold.
    @Test(arguments: [
        ("import Store", "Store"), ("  @preconcurrency import Store", "Store"), ("package import Store", "Store"),
        ("@testable import Store", "Store"), ("internal import struct Store.Row", "Store"),
        ("@_spi(X) public import Store", "Store"),
        ("import Store // why", "Store"), ("// import Store", nil), ("let x = important", nil),
    ])
    func importsAreSeen(line: String, module: String?) {
        #expect(
            SourceTree.File(path: "Shared/Bus/x.swift", lines: [line]).imports.map(\.module)
                == [module].compactMap { $0 })
    }
}

extension SourceTree.File {
    var isTest: Bool { self.path.hasPrefix("Tests/") && self.target.hasSuffix("Tests") }
}
