import Contract
import Foundation
import LocalStack
import TestKit
import Testing

/// `libwhispercore.so` as a host has it, without any server.
@Suite struct CoreLibraryTests {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path
    static let library = StackConfiguration().programs + "/libwhispercore.so"
    static let here = "\(root)/Tests/ClusterTests/Core"

    /// The library exports the functions that the header declares, each under the version node of the map, and nothing else.
    @Test func theLibraryExportsItsHeader() async throws {
        let header = try String(
            contentsOfFile: "\(Self.root)/Clients/WhisperCoreC/include/whispercore.h", encoding: .utf8)
        let declared = header.matches(of: /(?m)^(?:[a-z].*[ *])?(wsp_[a-z_]+)\(/).map { String($0.1) }
        #expect(declared.count == 21)
        let map = try String(contentsOfFile: "\(Self.root)/Clients/WhisperCoreC/exports.map", encoding: .utf8)
        #expect(map.matches(of: /(?m)^    (wsp_[a-z_]+);$/).map { String($0.1) } == declared)
        let symbols = try await Command("/usr/bin/nm", ["-D", "--defined-only", "--extern-only", Self.library]).output(
            name: "nm")
        let exported = symbols.split(separator: "\n").compactMap { $0.split(separator: " ").last.map(String.init) }
        #expect(Set(exported) == Set(declared.map { "\($0)@@WHISPERCORE_1" } + ["WHISPERCORE_1"]))
    }

    /// Programs that were linked with one release find the next one by it.
    @Test func theLibraryHasItsName() async throws {
        let names = try await Command("/usr/bin/readelf", ["-d", Self.library]).output(name: "readelf")
        #expect(names.contains("(SONAME)             Library soname: [libwhispercore.so.1]"))
        #expect(names.contains("BIND_NOW") || names.contains("Flags: NOW"))
    }

    /// `make library`, with the library of these tests: a program finds all by pkg-config.
    @Test func aProgramFindsTheLibraryByPkgConfig() async throws {
        let folder = try TemporaryFolder(named: "core")
        defer { folder.remove() }
        _ = try await Command("\(Self.root)/deploy/stage-library", [Self.library, folder.path]).output(name: "stage")
        let package = ["PKG_CONFIG_PATH": folder.path + "/lib/pkgconfig"]
        let version = try await Command("/usr/bin/pkg-config", ["--modversion", "whispercore"], environment: package)
            .output(name: "pkg-config")
        #expect(version == "\(Release.version)\n")
        let line =
            "cc -Wall -Werror $(pkg-config --cflags whispercore) doc/first.c $(pkg-config --libs whispercore) -o first"
        _ = try await Command("/bin/sh", ["-c", line], environment: package, folder: folder.path).output(name: "cc")
        // Nobody listens at this port. The library says so, and the program ends.
        let answers = try await Command(
            folder.path + "/first", [folder.path + "/me", "ws://127.0.0.1:1"],
            environment: ["LD_LIBRARY_PATH": folder.path + "/lib"]
        ).output(name: "first").split(separator: "\n")
        #expect(answers.first == "whispercore \(Release.version)" && answers.count == 7)
        #expect(answers.dropFirst().allSatisfy { !$0.contains(#""error""#) }, "\(answers)")
    }

    /// No library of Swift's: a host has none.
    @Test func theLibraryBringsItsSwift() async throws {
        let needed = try await Command("/usr/bin/readelf", ["-d", Self.library]).output(name: "readelf")
            .matches(of: /\(NEEDED\).*\[(.*)\]/).map { String($0.1) }
        #expect(needed.contains("libc.so.6") && !needed.contains { $0.contains("swift") || $0.contains("Foundation") })
    }

    /// All of Foundation would be a quarter of it.
    @Test func theLibraryIsSmall() async throws {
        let symbols = try await Command("/usr/bin/nm", ["--defined-only", Self.library]).output(name: "nm")
        #expect(symbols.contains("$s20FoundationEssentials"))
        #expect(symbols.firstMatch(of: /(?m) (?:\$s10Foundation[0-9]|CFString|icudt).*$/) == nil)
        let folder = try TemporaryFolder(named: "core")
        defer { folder.remove() }
        let stripped = folder.path + "/stripped"
        _ = try await Command("/usr/bin/strip", ["-o", stripped, Self.library]).output(name: "strip")
        let bytes = try #require(try FileManager.default.attributesOfItem(atPath: stripped)[.size] as? Int)
        #if DEBUG
        let most = 60 << 20
        #else
        let most = 30 << 20
        #endif
        #expect(bytes <= most)
    }

    /// A C11 program, with all warnings as errors: garbage, many threads, double close, fork.
    @Test func aProgramInCGetsWhatTheHeaderPromises() async throws {
        let folder = try TemporaryFolder(named: "core")
        defer { folder.remove() }
        let program = folder.path + "/host"
        // As it is installed: a program finds it by its SONAME.
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/libwhispercore.so.1", withDestinationPath: Self.library)
        let warnings = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
        _ = try await Command(
            "/usr/bin/cc",
            ["-std=c11"] + warnings + [
                "-I", "\(Self.root)/Clients/WhisperCoreC/include", "\(Self.here)/host.c", "-o", program, Self.library,
                "-Wl,-rpath,\(folder.path)", "-lpthread",
            ]
        ).output(name: "cc")
        // The library prints nothing.
        #expect(try await Command(program, [folder.path]).output(name: "host") == "ok\n")
        _ = try await Command(
            "/usr/bin/cc",
            ["-x", "c++", "-std=c++11"] + warnings + [
                "-I", "\(Self.root)/Clients/WhisperCoreC/include", "-fsyntax-only", "-include", "whispercore.h",
                "/dev/null",
            ]
        ).output(name: "cc")
    }
}
