// swift-tools-version: 6.2
import PackageDescription

// Who may import whom. Data goes one way: client, gateway, bus, service, store.
// Tests/ArchitectureTests checks that the sources keep to it.

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    // A newer compiler must not stop whoever only wants to run a release. Continuous integration builds nothing else.
    Context.environment["CI"] == nil
        ? .treatAllWarnings(as: .error, .when(configuration: .debug)) : .treatAllWarnings(as: .error),
]

/// Tests are built often and run once: optimising them costs the build more than they gain. The modules that they test
/// are optimised.
let unoptimised = strict + [SwiftSetting.unsafeFlags(["-Onone"], .when(configuration: .release))]

let log = Target.Dependency.product(name: "Logging", package: "swift-log")
let collections = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let nioHTTP = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioWebSocket = Target.Dependency.product(name: "NIOWebSocket", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let metrics = server("Metrics", "swift-metrics")
let lifecycle = server("ServiceLifecycle", "swift-service-lifecycle")
let configuration = server("Configuration", "swift-configuration")
let nioHTTP2 = server("NIOHTTP2", "swift-nio-http2")
let hummingbird = server("Hummingbird", "hummingbird")
let arguments = server("ArgumentParser", "swift-argument-parser")
let histogram = server("Histogram", "hdrhistogram-swift")

/// A product of a package that no app needs. An app without the trait `Server` neither fetches nor resolves that package.
func server(_ name: String, _ package: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: ["Server"]))
}

/// A package in a range that apps can share, from the version that is tested. `deploy/lock-packages` asks for this very version.
func tested(
    _ url: String, _ version: Version, traits: Set<Package.Dependency.Trait> = [.defaults]
) -> Package.Dependency {
    let isBelowOne = version.major == 0
    let next = Version(isBelowOne ? 0 : version.major + 1, isBelowOne ? version.minor + 1 : 0, 0)
    return Context.environment["WHISPER_LOCKED"] == nil
        ? .package(url: url, version..<next, traits: traits) : .package(url: url, exact: version, traits: traits)
}

/// A library under `Shared/`.
func shared(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Shared/\(name)", swiftSettings: strict)
}

/// A C library of the system, under `Shared/CLibraries/`.
func system(_ name: String, pkgConfig: String?, apt: String) -> Target {
    .systemLibrary(
        name: name, path: "Shared/CLibraries/\(name)", pkgConfig: pkgConfig, providers: [.apt([apt])])
}

/// The core of a service: its logic, edge and tables.
/// - Parameter assets: a folder of files that it serves as they are.
func core(
    _ service: String, _ name: String, _ dependencies: [Target.Dependency], migrations: Bool = false,
    assets: String? = nil
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Services/\(service)/\(name)",
        resources: ((migrations ? ["Migrations"] : []) + (assets.map { [$0] } ?? [])).map { .embedInCode($0) },
        swiftSettings: strict)
}

/// The executable of a service: one sentence that wires its core to adapters.
func executable(_ service: String, _ core: Target.Dependency, _ adapters: [Target.Dependency]) -> Target {
    .executableTarget(
        name: service, dependencies: [core, "ServiceRuntime"] + adapters,
        path: "Services/\(service)/main", swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, path: "Tests/\(name)", swiftSettings: unoptimised)
}

let package = Package(
    name: "whisper",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .executable(name: "whisper-gateway", targets: ["gateway"]),
        .executable(name: "whisper-auth", targets: ["auth"]),
        .executable(name: "whisper-router", targets: ["router"]),
        .executable(name: "whisper-push", targets: ["push"]),
        .executable(name: "whisper-attachments", targets: ["attachments"]),
        .executable(name: "whisper-calls", targets: ["calls"]),
        .executable(name: "whisper", targets: ["WhisperTerminal"]),
        .executable(name: "whisper-admin", targets: ["WhisperAdmin"]),
        .executable(name: "whisper-local", targets: ["LocalCluster"]),
        .executable(name: "whisper-load", targets: ["LoadTool"]),
        .executable(name: "whisper-contract", targets: ["ContractTool"]),
        .executable(name: "whisper-chaos", targets: ["ChaosTool"]),
        .executable(name: "whisper-simulate", targets: ["Simulation"]),
        // One identity as a library, for apps in Swift: `traits: []` leaves out what servers alone need.
        .library(name: "WhisperCore", targets: ["WhisperCore"]),
        // `libwhispercore.so`, for hosts in other languages.
        .library(name: "whispercore", type: .dynamic, targets: ["WhisperCoreC"]),
        // `libkerneltimers.so`, for tests in which processes have clocks of their own.
        .library(name: "kerneltimers", type: .dynamic, targets: ["CKernelTimers"]),
    ],
    traits: [
        .trait(name: "Server", description: "Services, terminal client and tools, beside the client core."),
        .default(enabledTraits: ["Server"]),
    ],
    dependencies: [
        tested("https://github.com/apple/swift-nio", "2.101.2"),
        tested("https://github.com/apple/swift-nio-ssl", "2.37.6"),
        tested("https://github.com/apple/swift-log", "1.16.2"),
        tested("https://github.com/apple/swift-metrics", "2.13.0"),
        tested("https://github.com/apple/swift-collections", "1.6.0"),
        // Without their default traits, which would load all of Foundation into every process (9 MiB of memory each).
        tested("https://github.com/apple/swift-configuration", "1.4.0", traits: []),
        tested("https://github.com/apple/swift-argument-parser", "1.8.2"),
        tested("https://github.com/swift-server/swift-service-lifecycle", "2.13.0"),
        tested("https://github.com/hummingbird-project/hummingbird", "2.28.1", traits: []),
        tested("https://github.com/HdrHistogram/hdrhistogram-swift", "0.2.0"),
        // For a benchmark alone. Hummingbird resolves it too.
        tested("https://github.com/apple/swift-nio-http2", "1.46.0"),
    ],
    targets: [
        // Shared
        system("CLibPQ", pkgConfig: "libpq", apt: "libpq-dev"),
        // hiredis' pkg-config file sets a flag that SwiftPM refuses; its headers stand where every compiler looks.
        system("CHiredis", pkgConfig: nil, apt: "libhiredis-dev"),
        system("COpenSSL", pkgConfig: "libcrypto", apt: "libssl-dev"),
        system("CNghttp2", pkgConfig: "libnghttp2", apt: "libnghttp2-dev"),
        system("CSodium", pkgConfig: "libsodium", apt: "libsodium-dev"),
        system("CQREncode", pkgConfig: "libqrencode", apt: "libqrencode-dev"),
        system("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
        // Everything that clients may see.
        shared("Contract"),
        // Everything that services tell each other over Redis, and no client may see.
        shared("ClusterContract", ["Contract"]),
        // JSON documents, and schemas of the contract's types.
        shared("ContractSchema", ["Contract"]),
        shared("Telemetry", ["Contract", "ClusterContract", log, metrics]),
        shared("Bus", ["Contract", "ClusterContract"]),
        shared(
            "RedisBus",
            [
                "Bus", "Contract", "ClusterContract", "Telemetry", "CHiredis", log, collections, nioCore, nioPosix,
                nioSSL,
            ]),
        shared("Store", ["Contract", "Telemetry", "CLibPQ", log]),
        // How Jobs are consumed: by groups on a stream, and by owners of partitions.
        shared("Jobs", ["Contract", "ClusterContract", "Bus", "Store", "Telemetry", log]),
        shared("ServerCrypto", ["Contract", "COpenSSL", "CSodium"]),
        // The commit, for the services' programs.
        .target(
            name: "CRevision", path: "Shared/CRevision",
            cSettings: Context.environment["WHISPER_REVISION"].map { [.define("WHISPER_REVISION", to: $0)] } ?? []),
        shared(
            "ServiceRuntime",
            [
                "Contract", "ClusterContract", "Telemetry", "CRevision", log, metrics, lifecycle, configuration,
                hummingbird, nioCore, nioHTTP, nioPosix,
            ]),

        // Who may ask over HTTP: bearer tokens of sessions and of operators.
        shared(
            "HTTPAccess",
            ["Contract", "ClusterContract", "Bus", "Store", "Telemetry", "ServerCrypto", log, hummingbird]),

        // Services
        core(
            "gateway", "GatewayCore",
            ["Contract", "ClusterContract", "Bus", "Telemetry", "ServerCrypto", log, collections, nioCore, nioPosix]),
        executable("gateway", "GatewayCore", ["RedisBus"]),
        core(
            "auth", "AuthCore",
            [
                "Contract", "ClusterContract", "Bus", "Jobs", "Store", "Telemetry", "ServerCrypto", "HTTPAccess", log,
                hummingbird,
            ],
            migrations: true),
        // Reports, bans, audit log, `/admin` and console: the other core of the same process and schema.
        core(
            "auth", "OperatorsCore",
            [
                "Contract", "ClusterContract", "Bus", "Store", "Telemetry", "ServerCrypto", "HTTPAccess", log,
                hummingbird, nioCore, nioPosix, nioSSL,
            ], migrations: true,
            assets: "Edge/Console/Assets"),
        executable("auth", "AuthCore", ["OperatorsCore", "RedisBus", "Store", "HTTPAccess"]),
        core(
            "router", "RouterCore",
            ["Contract", "ClusterContract", "Bus", "Jobs", "Store", "Telemetry", "ServerCrypto", log],
            migrations: true),
        executable("router", "RouterCore", ["RedisBus", "Store"]),
        core(
            "push", "PushCore",
            [
                "Contract", "ClusterContract", "Bus", "Jobs", "Store", "Telemetry", "ServerCrypto", "CNghttp2", log,
                collections, nioCore,
                nioPosix, nioSSL,
                nioTLS,
            ], migrations: true),
        executable("push", "PushCore", ["RedisBus", "Store"]),
        // Principals of calls, conversations and rooms, their relays, and what owners of shares have in common.
        core(
            "calls", "Participants",
            ["Contract", "ClusterContract", "Bus", "Jobs", "Store", "Telemetry", "ServerCrypto", log]),
        core(
            "calls", "CallsCore",
            [
                "Participants", "Contract", "ClusterContract", "Bus", "Jobs", "Store", "Telemetry", "ServerCrypto",
                "HTTPAccess", "WebPages", log, hummingbird,
            ], migrations: true),
        // Live conversations with their transcripts, and rooms: two more cores of the same process and schema.
        core(
            "calls", "ConversationsCore",
            [
                "Participants", "Contract", "ClusterContract", "Bus", "Jobs", "Store", "Telemetry", "ServerCrypto",
                "HTTPAccess", log, hummingbird,
            ]),
        core(
            "calls", "RoomsCore",
            [
                "Participants", "Contract", "ClusterContract", "Bus", "Jobs", "Store", "Telemetry", "ServerCrypto",
                "HTTPAccess", log, hummingbird,
            ]),
        executable("calls", "CallsCore", ["ConversationsCore", "RoomsCore", "Participants", "RedisBus", "Store"]),
        core(
            "attachments", "AttachmentsCore",
            [
                "Contract", "ClusterContract", "Bus", "Store", "Telemetry", "ServerCrypto", "HTTPAccess", log,
                hummingbird, nioCore,
                nioPosix,
                nioHTTP, nioSSL,
            ], migrations: true),
        executable("attachments", "AttachmentsCore", ["RedisBus", "Store", "HTTPAccess", "Telemetry"]),

        // The other end of the wire
        // SQLite's files sealed at rest.
        .target(
            name: "CSealedFile", dependencies: ["CSodium"], path: "Clients/CSealedFile",
            linkerSettings: [.linkedLibrary("sqlite3")]),
        // Statements and transactions of SQLite. Without Foundation, which would be a quarter of what a client loads.
        .target(name: "SQLite", dependencies: ["CSQLite"], path: "Clients/SQLite", swiftSettings: strict),
        .target(
            name: "WhisperClient",
            dependencies: [
                "Contract", "SQLite", "CSealedFile", "CSodium", "COpenSSL", log, collections, nioCore, nioPosix,
                nioHTTP,
                nioWebSocket, nioSSL,
            ],
            path: "Clients/WhisperClient", swiftSettings: strict),
        // One identity as a library: the facade, and its C interface.
        .target(
            name: "WhisperCore", dependencies: ["WhisperClient", "Contract", "ContractSchema", log],
            path: "Clients/WhisperCore", swiftSettings: strict),
        .systemLibrary(name: "CWhisperCore", path: "Clients/WhisperCoreC/include"),
        .target(
            name: "WhisperCoreC", dependencies: ["WhisperCore", "CWhisperCore"], path: "Clients/WhisperCoreC",
            exclude: ["include", "exports.map", "first.c", "whispercore.pc.in"], swiftSettings: strict,
            // A host has no Swift, and sees the functions of the header alone.
            linkerSettings: [
                .unsafeFlags([
                    "-static-stdlib", "-l_FoundationCollections", "-l_FoundationCShims", "-lstdc++", "-Xlinker",
                    "--version-script=\(Context.packageDirectory)/Clients/WhisperCoreC/exports.map",
                    // The number is WSP_ABI_VERSION.
                    "-Xlinker", "-soname=libwhispercore.so.1", "-Xlinker", "-z", "-Xlinker", "now",
                ])
            ]),
        .target(name: "TerminalText", dependencies: ["CQREncode"], path: "Clients/TerminalText", swiftSettings: strict),
        .executableTarget(
            name: "WhisperTerminal",
            dependencies: [
                "WhisperClient", "WhisperCore", "TerminalText", "Contract", "CAppAssets", "PlainSource", arguments,
                nioCore, nioHTTP, nioPosix,
            ],
            path: "Clients/WhisperTerminal", swiftSettings: strict),
        // The page of `whisper app`.
        .target(name: "CAppAssets", path: "Clients/App/Embedded"),
        // The pages in a browser. Calls serves them.
        .target(
            name: "WebPages", dependencies: ["Contract", "ServerCrypto", "CWebAssets", "PlainSource"],
            path: "Clients/Web",
            exclude: ["Assets", "Embedded"], swiftSettings: strict),
        // Scripts and styles without comments and spaces, for both.
        .target(name: "PlainSource", path: "Clients/PlainSource", swiftSettings: strict),
        // Their sources. In C, because a Swift literal of all these bytes takes 20 s to compile.
        .target(name: "CWebAssets", path: "Clients/Web/Embedded"),
        .executableTarget(
            name: "WhisperAdmin", dependencies: ["Contract", "TerminalText", arguments], path: "Clients/WhisperAdmin",
            swiftSettings: strict),

        // Tools, tests, and what tests share
        .target(name: "LocalStack", dependencies: [], path: "TestSupport/LocalStack", swiftSettings: strict),
        .executableTarget(
            name: "LocalCluster", dependencies: ["LocalStack", "WhisperClient", "Contract", log],
            path: "Tools/LocalCluster", swiftSettings: strict),
        .target(
            name: "TestKit",
            dependencies: ["Contract", "ClusterContract", "Bus", "LocalStack", "CSodium", nioCore, nioPosix],
            path: "TestSupport/TestKit", swiftSettings: strict),
        .executableTarget(
            name: "LoadTool",
            dependencies: [
                "Contract", "GatewayCore", "PushCore", "WhisperClient", "WhisperCore", "LocalStack",
                "TestKit",
                "PushPeers",
                "CSodium", nioCore, nioEmbedded, nioPosix, nioWebSocket, nioHTTP2, nioSSL, log, arguments, histogram,
            ],
            path: "Tools/LoadTool", swiftSettings: strict),
        .target(
            name: "ContractDocuments", dependencies: ["Contract", "ContractSchema", "WhisperClient", "WhisperCore"],
            path: "Tools/ContractDocuments",
            swiftSettings: strict),
        .executableTarget(
            name: "ContractTool", dependencies: ["ContractDocuments", "Contract"], path: "Tools/ContractTool",
            swiftSettings: strict
        ),
        .testTarget(
            name: "ContractDocumentTests",
            dependencies: [
                "ContractDocuments", "Contract", "ClusterContract", "ContractSchema", "ServerCrypto", "WhisperClient",
                "LocalStack",
            ],
            path: "Tests/ContractDocumentTests", exclude: ["Independent"], swiftSettings: unoptimised),
        .testTarget(
            name: "ArchitectureTests", dependencies: ["LocalStack"], path: "Tests/ArchitectureTests",
            exclude: ["Chart"], swiftSettings: unoptimised),
        // The program of docs/first-app.md.
        .executableTarget(
            name: "FirstApp", dependencies: ["WhisperCore"], path: "TestSupport/FirstApp", swiftSettings: strict),
        // The products that others install, and the number of the release.
        .testTarget(
            name: "PackageTests", dependencies: ["Contract", "LocalStack", "TestKit"], path: "Tests/PackageTests",
            swiftSettings: unoptimised),
        tests("ContractTests", ["Contract", "ClusterContract", "ServerCrypto", "TestKit"]),
        .testTarget(
            name: "ServerCryptoTests", dependencies: ["ServerCrypto", "Contract", "TestKit", "CSodium"],
            path: "Tests/ServerCryptoTests", exclude: ["Vectors"], swiftSettings: unoptimised),
        tests(
            "BusTests",
            [
                "Bus", "RedisBus", "Contract", "ClusterContract", "TestKit", "LocalStack", "Telemetry", log, nioCore,
                nioPosix,
            ]),
        tests("JobsTests", ["Jobs", "Bus", "Contract", "ClusterContract", "Store", "TestKit", "LocalStack", log]),
        tests("StoreTests", ["Store", "Contract", "ClusterContract", "LocalStack", log]),
        tests("ServiceRuntimeTests", ["ServiceRuntime", "Telemetry", log, metrics, configuration, hummingbird]),
        tests(
            "GatewayTests",
            [
                "GatewayCore", "Contract", "ClusterContract", "Bus", "ServerCrypto", "ServiceRuntime", "TestKit", log,
                nioCore, nioPosix,
            ]),
        // In front of libfaketime, in processes with clocks of their own.
        .target(name: "CKernelTimers", path: "TestSupport/CKernelTimers"),
        // The services themselves, in one thread, under simulated clock, network, Redis and Postgres.
        .target(name: "CSimulation", path: "TestSupport/CSimulation"),
        .target(
            name: "StoreModel", dependencies: ["Store", "Contract", "ClusterContract"], path: "TestSupport/StoreModel",
            swiftSettings: strict),
        .executableTarget(
            name: "Simulation",
            dependencies: [
                "GatewayCore", "RouterCore", "AuthCore", "PushCore", "CallsCore", "ConversationsCore", "RoomsCore",
                "Participants", "WhisperClient", "Bus", "Contract", "ClusterContract", "Store", "ServerCrypto",
                "StoreModel",
                "TestKit", "CSimulation", log, nioCore, arguments,
            ],
            path: "TestSupport/Simulation", swiftSettings: strict,
            // The libraries that the executable loads must find its clock and its randomness in front of the system's. Swift's own
            // are in it: a quarter of a world's time went into the calls between them.
            linkerSettings: [
                .unsafeFlags([
                    "-Xlinker", "--export-dynamic-symbol=clock_gettime", "-Xlinker", "--export-dynamic-symbol=syscall",
                    "-static-stdlib", "-lCoreFoundation", "-l_FoundationCollections", "-l_FoundationICU",
                    "-l_FoundationCShims",
                    "-lstdc++",
                ])
            ]),
        tests(
            "SimulationTests",
            [
                "RouterCore", "GatewayCore", "Contract", "ClusterContract", "Store", "StoreModel", "TestKit",
                "LocalStack", log,
            ]),
        tests(
            "RouterTests", ["RouterCore", "Contract", "ClusterContract", "Bus", "Store", "TestKit", "LocalStack", log]),
        tests(
            "CallsTests",
            [
                "CallsCore", "ConversationsCore", "RoomsCore", "Participants", "Jobs", "Contract", "ClusterContract",
                "Bus", "Store", "ServerCrypto", "Telemetry", "TestKit", "LocalStack", log,
            ]),
        tests("WebPagesTests", ["WebPages", "PlainSource"]),
        // The service auth with both of its cores, for the tests of either.
        .target(
            name: "AuthTestKit",
            dependencies: [
                "AuthCore", "OperatorsCore", "HTTPAccess", "Bus", "Contract", "ClusterContract", "Store",
                "ServerCrypto", "Telemetry",
                "TestKit",
                "LocalStack", "CSodium", log, hummingbird,
            ],
            path: "TestSupport/AuthTestKit", swiftSettings: strict),
        tests(
            "AuthTests",
            [
                "AuthTestKit", "AuthCore", "OperatorsCore", "HTTPAccess", "Bus", "Contract", "ClusterContract", "Store",
                "ServerCrypto",
                "Telemetry",
                "TestKit",
                "LocalStack", log, hummingbird,
            ]),
        tests(
            "OperatorsTests",
            [
                "AuthTestKit", "AuthCore", "OperatorsCore", "HTTPAccess", "Contract", "ClusterContract", "Bus", "Store",
                "ServerCrypto", "Telemetry", hummingbird, "LocalStack", "TestKit", "PushPeers",
            ]),
        .testTarget(
            name: "AttachmentsTests",
            dependencies: [
                "AttachmentsCore", "HTTPAccess", "ServiceRuntime", "Bus", "Contract", "ClusterContract", "Store",
                "ServerCrypto",
                "Telemetry", "TestKit",
                "LocalStack", log, nioCore, nioPosix,
            ],
            path: "Tests/AttachmentsTests", exclude: ["Vectors", "requirements.txt", "requirements.lock"],
            swiftSettings: unoptimised),
        // Writes into a sealed file until the tests kill it.
        .executableTarget(
            name: "SealedFileWriter", dependencies: ["CSealedFile"], path: "TestSupport/SealedFileWriter"),
        tests("SQLiteTests", ["SQLite"]),
        tests("SealedFileTests", ["CSealedFile", "SQLite", "CSQLite"]),
        tests(
            "ClientTests",
            [
                "WhisperClient", "WhisperCore", "WhisperTerminal", "WhisperAdmin", "TerminalText", "SQLite", "CSQLite",
                "PlainSource",
                "Contract", "ClusterContract", "LocalStack", "TestKit",
            ]),
        .testTarget(
            name: "ClusterTests",
            dependencies: [
                "LocalStack", "TestKit", "WhisperClient", "WhisperCore", "Contract", "ClusterContract", "Bus",
                "RedisBus", "PushPeers",
                "ServerCrypto",
                log, nioPosix,
                "Chaos",
            ],
            path: "Tests/ClusterTests",
            exclude: [
                "Core", "WebRTC", "Page/Scripts", "Page/requirements.txt", "Page/requirements.lock",
            ],
            swiftSettings: unoptimised),
        .target(
            name: "PushPeers",
            dependencies: ["CNghttp2", "Contract", "LocalStack", "ServerCrypto", nioCore, nioPosix, nioSSL, nioTLS],
            path: "TestSupport/PushPeers", swiftSettings: strict),
        .target(
            name: "Chaos",
            dependencies: [
                "Contract", "ClusterContract", "WhisperClient", "WhisperCore", "LocalStack", "TestKit", "PushPeers",
                log, nioCore, nioPosix,
            ],
            path: "TestSupport/Chaos", swiftSettings: strict),
        .executableTarget(
            name: "ChaosTool", dependencies: ["Chaos", "Contract", "LocalStack", arguments], path: "Tools/ChaosTool",
            swiftSettings: strict),
        tests("ChaosTests", ["Chaos", "LocalStack", "TestKit", nioCore, nioPosix]),
        tests(
            "PushTests",
            [
                "PushCore", "PushPeers", "Bus", "Contract", "ClusterContract", "Store", "ServerCrypto", "Telemetry",
                "TestKit",
                "LocalStack", log,
                nioCore, nioPosix, nioSSL,
            ]),
    ]
)

// WHISPER_BUILD leaves targets out that a step does not need. `run` builds what `make run` starts, `measure` all programs
// but the simulation, `test` everything but the load tool. `services` is for images, and keeps the targets whose folders
// deploy/Containerfile copies.
let isBuilt: ((Target) -> Bool)? =
    switch Context.environment["WHISPER_BUILD"] {
    case "run":
        { target in
            ["LocalStack", "LocalCluster"].contains(target.name)
                || !["Tools/", "TestSupport/", "Tests/", "Clients/WhisperCoreC"].contains { target.path!.hasPrefix($0) }
        }
    case "measure": { target in target.name != "Simulation" && !target.path!.hasPrefix("Tests/") }
    case "test": { target in target.name != "LoadTool" }
    case "services":
        { target in
            ["Shared/", "Services/", "Clients/Web", "Clients/PlainSource"].contains { target.path!.hasPrefix($0) }
        }
    default: nil
    }

if let isBuilt {
    package.targets = package.targets.filter(isBuilt)
    let names = Set(package.targets.map(\.name))
    package.products = package.products.filter { product in
        switch product {
        case let product as Product.Executable: names.isSuperset(of: product.targets)
        case let product as Product.Library: names.isSuperset(of: product.targets)
        default: true
        }
    }
}
