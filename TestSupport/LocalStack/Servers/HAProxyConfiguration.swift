/// The text of haproxy.cfg for one stack.
///
/// Two origins. The public one is the contract's (its first section): `/ws` and the HTTP of gateway, auth, attachments
/// and calls. The ops origin, never public, has the admin API, the console, the balancer's own metrics, the readiness of the
/// whole cluster, and the ops listener of each process under `/ops/{service}/{instance}/`.
struct HAProxyConfiguration {
    let ports: StackPorts
    /// Clients at once on the public origin. Each takes two descriptors.
    let connectionsMax: Int
    let limits: AddressLimits
    let threads: Int

    /// Connections that the ops origin has beside those of the public one, so that clients cannot shut operators out.
    static let opsConnections = 128

    var text: String {
        ([self.process, self.defaults, Self.addresses, self.publicOrigin, self.opsOrigin] + self.publicBackends
            + self.opsBackends)
            .joined(separator: "\n\n") + "\n"
    }

    private var process: String {
        """
        global
            # The public origin's, and places that it cannot take.
            maxconn \(self.connectionsMax + Self.opsConnections)
            # A connection that has become a tunnel holds no buffer while it is idle.
            nbthread \(self.threads)
            # Spread health checks so that they do not come in bursts.
            spread-checks 5
        """
    }

    private var defaults: String {
        """
        defaults
            mode http
                    timeout connect 2s
            timeout http-request 10s
            timeout http-keep-alive 60s
            timeout client 60s
            timeout server 60s
            timeout check 1s
            # A WebSocket. Gateways ping and close idle clients themselves, long before this.
            timeout tunnel 1h
            timeout client-fin 10s
            # A server that does not take the connection is left at once for another, and looked at more often. It is not
            # marked as down for that: with one server left the retry would wait for a second.
            retries 3
            option redispatch 1
            retry-on conn-failure empty-response
            option httpchk GET /ready
            http-check expect status 200
            default-server inter 2s fastinter 200ms downinter 200ms fall 2 rise 1 observe layer4 error-limit 1 on-error fastinter
        \(Self.errors)
        """
    }

    /// The contract's error body for what the balancer has to answer itself.
    private static let errors = [
        (400, "INVALID_PAYLOAD", "The request could not be read."),
        (408, "INVALID_PAYLOAD", "The request did not arrive in time."),
        (413, "INVALID_PAYLOAD", "The request is too large."),
        (500, "INTERNAL_ERROR", "Something went wrong."),
        (502, "INTERNAL_ERROR", "The service did not answer."),
        (503, "INTERNAL_ERROR", "The service is not available."),
        (504, "INTERNAL_ERROR", "The service did not answer in time."),
    ].map { "    http-error status \($0) content-type application/json string '\(json($1, $2))'" }
        .joined(separator: "\n")

    private static func json(_ code: String, _ message: String) -> String {
        #"{"error":"\#(code)","message":"\#(message)"}"#
    }

    private static let notFound =
        "http-request return status 404 content-type application/json string '\(json("NOT_FOUND", "Unknown path."))'"

    /// As deploy/haproxy/haproxy.cfg has it.
    private static let addresses = """
        # Connections of each address; of IPv6 its /64, which is what one subscriber has. 100,000 entries take 16 MB at most. An entry is
        # kept while its address is connected, and two minutes longer, which is more than the minute it counts.
        backend addresses
            stick-table type ipv6 size 100k expire 2m store conn_cur,conn_rate(60s)
        """

    private var publicOrigin: String {
        """
        frontend public
            bind 127.0.0.1:\(self.ports.public) backlog 4096
            maxconn \(self.connectionsMax)
            # Contract §13a, Transport: also of those that never say anything. What is refused is closed at once and not counted.
            tcp-request connection reject if { src,ipmask(32,64),table_conn_cur(addresses) ge \(self.limits.connectionsMax) }
            tcp-request connection reject if { src,ipmask(32,64),table_conn_rate(addresses) ge \(self.limits.connectionsPerMinute) }
            tcp-request connection track-sc0 src,ipmask(32,64) table addresses
            # Whom the services believe: the address seen here, and nothing that a client claims.
            http-request del-header X-Forwarded-For
            # What a dying server may have done already is not done twice.
            http-request disable-l7-retry unless METH_GET
            option forwardfor
            use_backend gateway if { path /ws /mail /health /ready }
            use_backend auth if { path_beg /users/ /backup/ /profiles/ } or { path /server /account/export /invitations /invitations/revoke }
            use_backend attachments if { path_beg /attachments/ }
            use_backend calls if { path_beg /calls/ /live/ /listen/ /transcript/ /join/ /web/ } or { path / /rooms /join /add /invite }
            default_backend unknown
        """
    }

    private var opsOrigin: String {
        let ready = self.present.map { "{ nbsrv(\($0.rawValue)) ge 1 }" }.joined(separator: " ")
        return """
            frontend ops
                bind 127.0.0.1:\(self.ports.ops)
                http-request use-service prometheus-exporter if { path /metrics } METH_GET
                http-request redirect location /console code 302 if { path / } METH_GET
                http-request return status 200 content-type application/json string '{"status":"ok"}' if { path /health } METH_GET
                http-request return status 200 content-type application/json string '{"status":"ready"}' if { path /ready } METH_GET \(ready)
                http-request return status 503 content-type application/json string '\(Self.json("INTERNAL_ERROR", "A service has no ready instance."))' if { path /ready } METH_GET
                http-request disable-l7-retry unless METH_GET
                use_backend admin-attachments if { path_beg /admin/attachments/ }
                use_backend admin if { path_beg /admin/ /console/ } or { path /console }
                use_backend ops-%[path,field(3,/)]-%[path,field(4,/)] if { path_reg ^/ops/[a-z]+/[0-9]+/(metrics|health|ready)$ }
                default_backend unknown
            """
    }

    private var present: [ServiceName] {
        ServiceName.allCases.filter { !(self.ports.services[$0] ?? []).isEmpty }
    }

    /// One backend for each service, with the readiness of its instances. Router and push serve no public request;
    /// their backends exist to be counted, and are looked at more rarely.
    private var publicBackends: [String] {
        let unknown = "backend unknown\n    \(Self.notFound)"
        let backends = ServiceName.allCases.map { service -> String in
            let servers = (self.ports.services[service] ?? []).enumerated().map { index, instance in
                let target = "127.0.0.1:\(instance.http ?? instance.ops)"
                let interval = instance.http == nil ? " inter 5s" : ""
                return "    server \(service.rawValue)-\(index + 1) \(target) check port \(instance.ops)\(interval)"
            }
            return (["backend \(service.rawValue)", "    balance leastconn"] + servers).joined(separator: "\n")
        }
        return [unknown] + backends
    }

    private var opsBackends: [String] {
        let admin = (self.ports.services[.auth] ?? []).enumerated().map { index, instance in
            "    server auth-\(index + 1) 127.0.0.1:\(instance.ops) track auth/auth-\(index + 1)"
        }
        let adminAttachments = (self.ports.services[.attachments] ?? []).enumerated().map { index, instance in
            "    server attachments-\(index + 1) 127.0.0.1:\(instance.ops) track attachments/attachments-\(index + 1)"
        }
        let processes = self.present.flatMap { service in
            self.ports.services[service]!.enumerated().map { index, instance in
                """
                backend ops-\(service.rawValue)-\(index + 1)
                    # There is no other server to try, and a scrape that waits is worth nothing.
                    retries 0
                    http-request replace-path /ops/[a-z]+/[0-9]+/(.*) /\\1
                    server \(service.rawValue)-\(index + 1) 127.0.0.1:\(instance.ops)
                """
            }
        }
        let origins = [["backend admin"] + admin, ["backend admin-attachments"] + adminAttachments]
        return origins.map { $0.joined(separator: "\n") } + processes
    }
}
