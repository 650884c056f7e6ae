import Contract
import TestKit
import Testing

@testable import WhisperClient

@Suite struct RadioLineTests {
    private static let anna = NearbyPeer(name: "r\"1\n")
    private static let text = NearbyService.toCentral.description

    private func read(_ line: String) -> RadioLine? { RadioLine(Array(line.utf8)) }

    @Test(arguments: [
        (RadioCall.advertise(service: NearbyService.uuid, name: "Ännchen"), ["advertise", "name"]),
        (.stopAdvertising, ["stopAdvertising"]), (.scan(service: NearbyService.uuid), ["scan", "service"]),
        (.stopScan, ["stopScan"]), (.connect(anna), ["connect", "peer"]), (.disconnect(anna), ["disconnect", "peer"]),
        (.discover(anna), ["discover", "peer"]),
        (.subscribe(anna, NearbyService.hangUp), ["subscribe", "peer", "characteristic"]),
        (.write(anna, NearbyService.fragments, [0, 255], token: 7), ["write", "value", "token"]),
        (.indicate(anna, NearbyService.fragments, [], token: 8), ["indicate", "value", "token"]),
    ])
    func aCallIsOneLine(call: RadioCall, members: [String]) throws {
        #expect(!call.line.contains(UInt8(ascii: "\n")))
        let json = try JSON(parsing: call.line)
        #expect(json["call"]?.string == members[0])
        for member in members.dropFirst() { #expect(json[member] != nil, "\(member)") }
        if members.contains("peer") { #expect(json["peer"]?.string == Self.anna.name) }
        if members[0] == "write" { #expect(json["value"]?.string == "AP8=" && json["token"]?.integer == 7) }
        if members[0] == "advertise" {
            #expect(call.line.count < NearbyLimits.lineBytesMax)
            #expect(String(decoding: call.line, as: UTF8.self).contains(NearbyService.fragments.description))
        }
    }

    /// The longest packet in Base64, and the longest name with escapes, fit into a line.
    @Test func theLongestCallFits() {
        let peer = NearbyPeer(name: String(repeating: "\u{1}", count: NearbyLimits.peerNameBytesMax))
        let value = Array(repeating: UInt8(255), count: NearbyLimits.mtus.upperBound)
        let call = RadioCall.write(peer, NearbyService.fragments, value, token: UInt64(Int64.max))
        #expect(call.line.count < NearbyLimits.lineBytesMax / 2)
    }

    @Test func eventsAreRead() {
        let peer = NearbyPeer(name: "r1")
        let members = #""peer":"r1","characteristic":"\#(Self.text)""#
        let chat = NearbyService.toCentral
        let events: [(String, RadioEvent)] = [
            (#"{"event":"state","state":"denied"}"#, .state(.denied)),
            (#"{"event":"readyToIndicate"}"#, .readyToIndicate),
            (#"{"event":"found","peer":"r1","name":"A","strength":-40}"#, .found(peer, name: "A", strength: -40)),
            (#"{"event":"disconnected","peer":"r1"}"#, .peripheral(peer, .disconnected)),
            (
                #"{"event":"characteristics","peer":"r1","characteristics":["\#(Self.text.uppercased())","x"]}"#,
                .peripheral(peer, .characteristics([chat]))
            ),
            (#"{"event":"subscribed",\#(members),"ok":false}"#, .peripheral(peer, .subscribed(chat, isDone: false))),
            (#"{"event":"wrote","peer":"r1","token":3,"ok":true}"#, .peripheral(peer, .wrote(token: 3, isDone: true))),
            (#"{"event":"value",\#(members),"value":"QQ=="}"#, .peripheral(peer, .value(chat, [65]))),
            (#"{"event":"centralSubscribed",\#(members)}"#, .central(peer, .subscribed(chat))),
            (#"{"event":"centralUnsubscribed",\#(members)}"#, .central(peer, .unsubscribed(chat))),
            (#"{"event":"centralWrote",\#(members),"value":""}"#, .central(peer, .value(chat, []))),
            (
                #"{"event":"indicated","peer":"r1","token":4,"ok":false}"#,
                .central(peer, .indicated(token: 4, isDone: false))
            ),
        ]
        for (line, event) in events { #expect(self.read(line) == .event(event, mtu: nil), "\(line)") }
        #expect(
            self.read(#"{"event":"connected","peer":"r1","mtu":23}"#) == .event(.peripheral(peer, .connected), mtu: 23))
        #expect(self.read(#"{"event":"full"}"#) == .full)
    }

    @Test(arguments: [
        "", "{}", "[]", "null", #"{"event":"x","peer":"r1"}"#, #"{"event":"state","state":"x"}"#,
        #"{"event":"value","peer":"r1","characteristic":"\#(text)","value":"%"}"#, #"{"event":"connected"}"#,
        #"{"event":"value","peer":"r1","characteristic":"920D5472","value":""}"#, #"{"event":"wrote","peer":"r1"}"#,
        #"{"event":"wrote","peer":"r1","token":-1,"ok":true}"#, #"{"event":"connected","peer":7}"#,
    ])
    func whatIsNoEventIsNone(line: String) { #expect(self.read(line) == nil) }
}
