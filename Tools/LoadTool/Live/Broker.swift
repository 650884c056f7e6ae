import Foundation
import LocalStack

/// A message broker that passes on what it gets, beside which live conversations are measured. It keeps nothing, verifies nothing
/// and knows no listener's position.
enum Broker: String, CaseIterable {
    case redis = "Redis PUBLISH"
    case mosquitto
    case nats = "NATS"

    /// Where Debian has it.
    var program: String {
        switch self {
        case .redis: "/usr/bin/redis-server"
        case .mosquitto: "/usr/sbin/mosquitto"
        case .nats: "/usr/sbin/nats-server"
        }
    }

    var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: self.program) }

    /// A running one that listens on loopback.
    func start(in folder: String, port: Int) async throws -> ChildProcess {
        let arguments: [String]
        switch self {
        case .redis:
            arguments = [
                "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--dir", folder, "--maxclients", "20000",
                "--client-output-buffer-limit", "pubsub 0 0 0",
            ]
        case .mosquitto:
            let file = folder + "/mosquitto.conf"
            let lines = ["listener \(port) 127.0.0.1", "allow_anonymous true", "max_queued_messages 0", "user root"]
            try (lines.joined(separator: "\n") + "\n").write(toFile: file, atomically: true, encoding: .utf8)
            arguments = ["-c", file]
        case .nats: arguments = ["-a", "127.0.0.1", "-p", "\(port)"]
        }
        let process = try await ChildProcess.start(
            Command(self.program, arguments, folder: folder, log: "\(folder)/broker.log"), name: "\(self)")
        try await process.becomeReady { !LoopbackPort.isFree(port) }
        return process
    }

    // MARK: What its clients say

    /// First on each connection.
    func hello(of client: Int) -> [UInt8] {
        switch self {
        case .redis: []
        case .mosquitto:
            // CONNECT of MQTT 3.1.1: a clean session without keep-alive.
            Self.packet(0x10, Self.text("MQTT") + [4, 2, 0, 0] + Self.text("c\(client)"))
        case .nats: Array("CONNECT {\"verbose\":false,\"pedantic\":false}\r\n".utf8)
        }
    }

    func subscribe(to room: Int) -> [UInt8] {
        let name = Self.name(of: room)
        return switch self {
        case .redis: Self.command("SUBSCRIBE", name)
        case .mosquitto: Self.packet(0x82, [0, 1] + Self.text(name) + [0])
        case .nats: Array("SUB \(name) 1\r\n".utf8)
        }
    }

    func publish(_ payload: [UInt8], to room: Int) -> [UInt8] {
        let name = Self.name(of: room)
        return switch self {
        case .redis: Self.command("PUBLISH", name, payload)
        case .mosquitto: Self.packet(0x30, Self.text(name) + payload)
        case .nats: Array("PUB \(name) \(payload.count)\r\n".utf8) + payload + Array("\r\n".utf8)
        }
    }

    private static func name(of room: Int) -> String { "room-\(room)" }

    private static func command(_ name: String, _ key: String, _ value: [UInt8]? = nil) -> [UInt8] {
        var bytes = Array("*\(value == nil ? 2 : 3)\r\n".utf8)
        for part in [Array(name.utf8), Array(key.utf8)] + (value.map { [$0] } ?? []) {
            bytes += Array("$\(part.count)\r\n".utf8) + part + Array("\r\n".utf8)
        }
        return bytes
    }

    /// A string of MQTT: its length in two bytes before it.
    private static func text(_ string: String) -> [UInt8] {
        [UInt8(string.utf8.count >> 8), UInt8(string.utf8.count & 0xFF)] + Array(string.utf8)
    }

    /// A control packet of MQTT: its length in seven bits a byte (MQTT 3.1.1, 2.2.3).
    private static func packet(_ kind: UInt8, _ body: [UInt8]) -> [UInt8] {
        var (head, rest) = ([kind], body.count)
        repeat {
            let digit = UInt8(rest & 0x7F)
            rest >>= 7
            head.append(rest > 0 ? digit | 0x80 : digit)
        } while rest > 0
        return head + body
    }
}
