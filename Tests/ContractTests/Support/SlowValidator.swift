import Contract
import Foundation

/// Decides whether a message is a valid frame, by the contract's words and the catalogue's schemas, over `SlowJSON`.
enum SlowValidator {
    static func isValid(_ message: String) -> Bool {
        guard case .object(let envelope)? = SlowJSON.parse(message) else { return false }
        guard SlowJSON.object(envelope).depth <= Limits.jsonDepthMax else { return false }
        let types = envelope.filter { $0.name == "type" }
        let payloads = envelope.filter { $0.name == "payload" }
        let requestIDs = envelope.filter { $0.name == "requestId" }.filter {
            if case .null = $0.value { false } else { true }
        }
        guard types.count == 1, payloads.count == 1, requestIDs.count <= 1 else { return false }
        guard case .string(let type) = types[0].value, case .object(let payload) = payloads[0].value else {
            return false
        }
        if let requestID = requestIDs.first {
            guard case .string(let text) = requestID.value, (1...64).contains(text.unicodeScalars.count),
                text.unicodeScalars.allSatisfy({ (" "..."~").contains($0) })
            else { return false }
        }
        guard let frame = FrameCatalogue.all.first(where: { $0.type == type }) else { return false }
        return self.isValid(payload, frame.schema) && self.keepsRules(payload, type)
    }

    private static func isValid(_ members: [SlowJSON.Member], _ schema: ObjectSchema) -> Bool {
        schema.fields.allSatisfy { field in
            let given = members.filter { Array($0.name.utf8) == Array(field.name.utf8) }
            guard given.count <= 1 else { return false }
            switch given.first?.value {
            case nil, .null: if case .required = field.presence { return false } else { return true }
            case let value?: return self.isValid(value, field.type)
            }
        }
    }

    private static func isValid(_ value: SlowJSON, _ type: FieldType) -> Bool {
        switch (type, value) {
        case (.version, .number(let literal)): return literal == "1"
        case (.timestamp, .number(let literal)):
            return self.integer(literal).map { $0 > 0 && $0 < 253_402_300_800_000 } ?? false
        case (.integer(let range), .number(let literal)): return self.integer(literal).map(range.contains) ?? false
        case (.bool, .bool): return true
        case (.sessionToken, .string): return true
        case (.whisperID, .string(let text)): return self.isWhisperID(text)
        case (.uuid, .string(let text)): return self.isUUID(text)
        case (.uuidV4, .string(let text)):
            let digits = Array(text.unicodeScalars)
            return self.isUUID(text) && digits[14] == "4" && "89abAB".unicodeScalars.contains(digits[19])
        case (.lowerCaseUUID, .string(let text)): return self.isUUID(text) && text.lowercased() == text
        case (.guestID, .string(let text)): return self.isGuestID(text)
        case (.principalID, .string(let text)): return self.isWhisperID(text) || self.isGuestID(text)
        case (.groupID, .string(let text)):
            return text.unicodeScalars.starts(with: "grp-".unicodeScalars)
                && self.isUUID(String(text.unicodeScalars.dropFirst(4)))
        case (.base64(let range), .string(let text)):
            guard let data = Data(base64Encoded: text), range.contains(data.count) else { return false }
            return Array(data.base64EncodedString().utf8) == Array(text.utf8)
        case (.text(let range), .string(let text)):
            return range.contains(text.unicodeScalars.count) && !text.unicodeScalars.contains("\0")
        case (.digits(let range), .string(let text)):
            return range.contains(text.unicodeScalars.count)
                && text.unicodeScalars.allSatisfy { "0123456789".unicodeScalars.contains($0) }
        case (.choice(let words), .string(let text)): return words.contains { Array($0.utf8) == Array(text.utf8) }
        case (.object(let schema), .object(let members)): return self.isValid(members, schema)
        case (.array(let element, let count), .array(let elements)):
            return count.contains(elements.count) && elements.allSatisfy { self.isValid($0, element) }
        case (.reactions, .object(let members)):
            let names = members.map { Array($0.name.utf8) }
            return members.count <= Limits.reactionsMax && Set(names).count == names.count
                && members.allSatisfy { member in
                    self.isValid(.string(member.name), .text(Limits.reactionCharacters))
                        && self.isValid(member.value, .array(of: .whisperID, count: 0...Limits.reactionIdentitiesMax))
                }
        default: return false
        }
    }

    /// Rules between fields (contract §2, §5).
    private static func keepsRules(_ members: [SlowJSON.Member], _ type: String) -> Bool {
        func text(_ name: String) -> String {
            if case .string(let text)? = members.first(where: { $0.name == name })?.value { text } else { "" }
        }
        func isText(_ member: SlowJSON.Member) -> Bool { if case .string = member.value { true } else { false } }
        var hasOneToken: Bool { members.count { ["sessionToken", "guestToken"].contains($0.name) && isText($0) } < 2 }
        switch type {
        case "send_message", "group_send_message":
            let bytes = Data(base64Encoded: text("ciphertext"))?.count ?? 0
            return text("from") != text("to") && (text("msgType") != "text" || bytes <= 12_288)
        case "call_initiate", "call_answer", "call_ice_candidate", "call_end": return text("from") != text("to")
        case "live_packet":
            let isToAll = !members.contains { member in
                if case .string = member.value { member.name == "to" } else { false }
            }
            let isNumbered = !members.contains { member in
                if case .number(let literal) = member.value {
                    member.name == "line" && Int64(literal) == 0
                } else {
                    false
                }
            }
            return (isToAll || !["snapshot", "diff"].contains(text("kind"))) && (isNumbered || text("kind") != "line")
        case "room_create", "room_code":
            let digits = members.compactMap { member -> String? in
                if member.name == "codeDigits", case .number(let text) = member.value { text } else { nil }
            }
            return hasOneToken && digits.allSatisfy { ["0", "-0", "6", "8", "10"].contains($0) }
        case "room_join":
            return hasOneToken && members.count { ["code", "roomId"].contains($0.name) && isText($0) } == 1
        case let type where type.hasPrefix("room_"): return hasOneToken
        case "live_knock", "live_join", "live_leave", "live_resync", "live_attention": return hasOneToken
        case "fetch_pending":
            let cursor = text("cursor")
            guard !cursor.isEmpty else { return true }
            guard cursor.hasPrefix("p1-"), let after = Int64(cursor.dropFirst(3), radix: 16), after >= 0 else {
                return false
            }
            return cursor == "p1-" + String(after, radix: 16)
        case "group_list":
            let cursor = Array(text("cursor").utf8)
            guard !cursor.isEmpty else { return true }
            let digits = Set("0123456789abcdef".utf8)
            return cursor.count == 62 && cursor[0] == UInt8(ascii: "g") && Set("012".utf8).contains(cursor[1])
                && cursor[2] == UInt8(ascii: "-") && cursor[3...].allSatisfy { digits.contains($0) }
                && cursor[46] < UInt8(ascii: "8")
        default: return true
        }
    }

    private static func integer(_ literal: String) -> Int64? {
        literal.contains(where: { ".e".contains($0) }) ? nil : Int64(literal)
    }

    private static func isWhisperID(_ text: String) -> Bool {
        let scalars = Array(text.unicodeScalars)
        guard scalars.count == 18, scalars.starts(with: "WSP-".unicodeScalars) else { return false }
        return scalars.enumerated().dropFirst(4).allSatisfy { index, scalar in
            index == 8 || index == 13 ? scalar == "-" : ("A"..."Z").contains(scalar) || ("2"..."7").contains(scalar)
        }
    }

    private static func isGuestID(_ text: String) -> Bool {
        let scalars = Array(text.unicodeScalars)
        return scalars.count == 36 && scalars.starts(with: "gst-".unicodeScalars)
            && scalars.dropFirst(4).allSatisfy { "0123456789abcdef".unicodeScalars.contains($0) }
    }

    private static func isUUID(_ text: String) -> Bool {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        return groups.map(\.unicodeScalars.count) == [8, 4, 4, 4, 12]
            && groups.joined().unicodeScalars.allSatisfy { "0123456789abcdefABCDEF".unicodeScalars.contains($0) }
    }
}
