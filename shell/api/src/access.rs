//! Who may reach a runtime, and with what.

holon_facts::names! {
    /// Who is meant to reach the runtime over TCP.
    Access {
        /// This machine alone.
        Local "local",
        /// This machine, and clients of a tunnel to it.
        Tunnel "tunnel",
        /// The private network of a given address.
        Lan "lan",
        /// The tailnet of a given address.
        Tailnet "tailnet",
    }
}

holon_facts::names! {
    /// When a control token is required.
    #[derive(Default)]
    AuthMode {
        /// On TCP whenever one is configured, and always on an address that is not loopback.
        #[default]
        Auto "auto",
        /// Also on the socket.
        Required "required",
        /// Nowhere; only loopback addresses and the socket are served.
        Disabled "disabled",
    }
}
