import Glibc

/// One of the numbers that every Prometheus client exports about its own process. Numbers that the kernel does not give
/// are left out.
struct ProcessStatistics {
    let name: String
    let kind: String
    /// `nil` for a metric that `MetricName` has.
    var help: String?
    let value: Double

    static var current: [ProcessStatistics] {
        let values: [(String, String, String, Double?)] = [
            ("process_cpu_seconds_total", "counter", "Time on a core, of user and system.", self.cpuSeconds),
            ("process_open_fds", "gauge", "Open file descriptors.", self.openFiles),
            ("process_resident_memory_bytes", "gauge", "Memory in RAM.", self.residentBytes),
            ("process_start_time_seconds", "gauge", "Start of the process, in seconds since 1970.", self.startTime),
        ]
        return values.compactMap { name, kind, help, value in
            value.map { ProcessStatistics(name: name, kind: kind, help: help, value: $0) }
        }
    }

    private static var cpuSeconds: Double? {
        var time = timespec()
        guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return nil }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static var residentBytes: Double? {
        guard let statm = Self.words(of: "/proc/self/statm"), statm.count > 1, let pages = Double(statm[1]) else {
            return nil
        }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }

    private static var openFiles: Double? {
        guard let directory = opendir("/proc/self/fd") else { return nil }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Without `.`, `..` and the descriptor of this very listing.
        return Double(max(0, count - 3))
    }

    /// The kernel tells ticks since boot (proc(5), field 22 of stat), and the time of boot.
    private static let startTime: Double? = {
        // The second field is the command in parentheses and may contain spaces: count from behind it.
        guard let stat = Self.text(of: "/proc/self/stat"), let end = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[end...].split(separator: " ")
        guard fields.count > 20, let ticks = Double(fields[20]) else { return nil }
        guard let system = Self.text(of: "/proc/stat") else { return nil }
        for line in system.split(separator: "\n") where line.hasPrefix("btime ") {
            return Double(line.dropFirst(6)).map { $0 + ticks / Double(sysconf(Int32(_SC_CLK_TCK))) }
        }
        return nil
    }()

    private static func words(of path: String) -> [Substring]? {
        Self.text(of: path)?.split { $0 == " " || $0 == "\n" }
    }

    /// The whole file, up to the size that any of these has on a machine with many cores.
    private static func text(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while bytes.count < 1_048_576 {
            let count = read(descriptor, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes.append(contentsOf: chunk[..<count])
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
