import Contract

/// The bodies that clients and operators are answered with (`AttachmentOperations`).
enum AttachmentAnswers {
    /// The headers that uploads must be sent with.
    private static let headers: [UInt8] = {
        var json = JSONWriter(capacity: 64)
        json.add("Content-Type", AttachmentsLimits.storedContentType)
        return json.finished()
    }()

    /// The parts that can still be sent, each with its URL.
    struct Parts {
        var partBytes = Limits.uploadPartBytes
        var missing: [(part: UploadPlan.Part, url: String)]

        fileprivate func add(to json: inout JSONWriter) {
            json.add("parts", objects: self.missing) { missing, json in
                json.add("number", Int64(missing.part.number))
                json.add("sizeBytes", missing.part.sizeBytes)
                json.add("uploadUrl", missing.url)
            }
        }
    }

    static func upload(_ key: ObjectKey, url: String, until: Timestamp, parts: Parts?) -> [UInt8] {
        var json = JSONWriter(capacity: 1_024)
        json.add("uploadUrl", url)
        json.add("objectKey", key.description)
        json.add("expiresAt", until)
        json.add("headers", json: Self.headers)
        if let parts {
            var multipart = JSONWriter(capacity: 4_096)
            multipart.add("partBytes", parts.partBytes)
            parts.add(to: &multipart)
            json.add("multipart", json: multipart.finished())
        }
        return json.finished()
    }

    static func parts(_ parts: Parts, received: [Int], until: Timestamp) -> [UInt8] {
        var json = JSONWriter(capacity: 4_096)
        json.add("expiresAt", until)
        json.add("headers", json: Self.headers)
        json.add("partBytes", parts.partBytes)
        json.add("received", array: received) { $1 += String($0).utf8 }
        parts.add(to: &json)
        return json.finished()
    }

    static func complete(sizeBytes: Int64) -> [UInt8] {
        var json = JSONWriter(capacity: 48)
        json.add("success", true)
        json.add("sizeBytes", sizeBytes)
        return json.finished()
    }

    static func download(url: String, until: Timestamp) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.add("downloadUrl", url)
        json.add("expiresAt", until)
        return json.finished()
    }

    static func tally(_ tally: Collector.Tally) -> [UInt8] {
        var json = JSONWriter()
        json.add("examined", tally.examined)
        json.add("deleted", tally.deleted)
        json.add("bytesFreed", tally.bytesFreed)
        return json.finished()
    }

    static func report(_ report: Auditor.Report) -> [UInt8] {
        var json = JSONWriter(capacity: 1_024)
        json.add("objects", Int64(report.objects))
        json.add("rows", Int64(report.rows))
        json.add("leaked", Int64(report.leaked))
        json.add("leakedBytes", report.leakedBytes)
        json.add("leakedKeys", strings: report.leakedKeys)
        json.add("dangling", Int64(report.dangling))
        json.add("danglingKeys", strings: report.danglingKeys)
        json.add("fixed", Int64(report.fixed))
        return json.finished()
    }
}
