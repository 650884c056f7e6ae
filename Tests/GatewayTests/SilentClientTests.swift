import ClusterContract
import Contract
import Foundation
import Testing

@testable import GatewayCore

/// Clients that say nothing, and clients that hear nothing (contract §3). Through a real socket.
@Suite(.timeLimit(.minutes(20))) struct SilentClientTests {
    private let identity = WhisperID("WSP-JBPU-D452-TLT4")!
    private static let ping = #"{"type":"ping","payload":{}}"#

    // MARK: Saying nothing

    @Test func whoeverIsSilentForNinetySecondsIsClosed() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            let other = try await bench.client()
            await bench.gateway.letPass(.milliseconds(90_001), on: connection)
            #expect(try await client.closeCode() == 4008)
            try await bench.untilToldGone(connection, of: self.identity)
            #expect(await bench.gateway.isBound(self.identity) == false)
            // It does not answer the farewell. Its socket goes all the same.
            await bench.gateway.letPass(GatewayLimits.closeLinger, on: connection)
            #expect(await client.ends())
            try await other.send(Self.ping)
            #expect(try await other.json().type == "pong")
        }
    }

    @Test func whoeverIsSilentForAMinuteIsNot() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            await bench.gateway.letPass(.seconds(60), on: connection)
            try await bench.looks(2)
            #expect(await bench.gateway.isOpen(connection))
            try await client.send(Self.ping)
            #expect(try await client.json().type == "pong")
        }
    }

    /// A frame, good or bad, and the WebSocket's own pings and pongs (contract §13).
    @Test(arguments: [
        ClientFrame.text(#"{"type":"ping","payload":{}}"#), ClientFrame.text("{}"), ClientFrame(opcode: 9),
        ClientFrame(opcode: 10),
    ])
    private func anythingSaidIsASignOfLife(frame: ClientFrame) async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            await bench.gateway.letPass(.seconds(60), on: connection)
            try await client.send(frame)
            while await bench.gateway.silence(of: connection) >= 60_000 { try await Task.sleep(for: .milliseconds(1)) }
            // Without it, that would be two minutes.
            await bench.gateway.letPass(.seconds(60), on: connection)
            try await bench.looks(2)
            #expect(await bench.gateway.isOpen(connection))
        }
    }

    // MARK: Hearing nothing

    @Test func whoeverReadsNothingIsClosed() async throws {
        let mailBytes = 256 * 1_024
        // More than the kernel keeps for a socket, and the gateway for a client.
        let mailsMax: Int64 = 400
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            let other = try await bench.client()
            try await bench.tell(.bound(connection, isCaughtUp: true))
            try await client.stopReading()
            var told: Int64 = 0
            while await bench.gateway.isOpen(connection), told < mailsMax {
                told += 1
                try await bench.tell(.mail(connection, [self.mail(told, bytes: mailBytes)], again: false))
            }
            #expect(await bench.gateway.isOpen(connection) == false, "it was written \(told) times \(mailBytes) bytes")
            // The farewell may take as long as this machine needs.
            await bench.gateway.letPass(.seconds(-60), on: connection)
            try await bench.untilToldGone(connection, of: self.identity)
            // Nobody else is held up.
            try await other.send(Self.ping)
            #expect(try await other.json().type == "pong")

            // Written messages arrive whole and in order, and the close frame behind them.
            try await client.goOnReading()
            var read: Int64 = 0
            var frame = try await client.frame()
            while frame.opcode == 1 {
                read += 1
                let head = String(decoding: frame.payload.prefix(80), as: UTF8.self)
                #expect(head.contains(#""messageId":"\#(read)""#))
                #expect(frame.payload.count > mailBytes)
                frame = try await client.frame()
            }
            #expect(frame.opcode == 8 && frame.payload.prefix(2) == [15, 170], "4010")
            #expect(read <= told && Int(read) * mailBytes > GatewayLimits.outboundBytesMax)
            try await client.send(ClientFrame(opcode: 8, payload: [15, 170]))
            #expect(await client.ends())
        }
    }

    /// As long as it is not too much, it may take its time.
    @Test func whoeverReadsLaterGetsAll() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.tell(.bound(connection, isCaughtUp: true))
            try await client.stopReading()
            let numbers = Int64(1)...7
            for number in numbers {
                try await bench.tell(.mail(connection, [self.mail(number, bytes: 256 * 1_024)], again: false))
            }
            try await bench.looks(1)
            #expect(await bench.gateway.isOpen(connection))
            try await client.goOnReading()
            for number in numbers { #expect(try await client.json().payload["messageId"] as? String == "\(number)") }
        }
    }

    private func mail(_ number: Int64, bytes: Int) -> Mail {
        let filling = String(repeating: "x", count: bytes)
        return Mail(number: number, payload: Array(#"{"messageId":"\#(number)","ciphertext":"\#(filling)"}"#.utf8))
    }
}
