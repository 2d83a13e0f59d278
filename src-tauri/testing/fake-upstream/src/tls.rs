//! TLS: a certificate authority made anew for each server, and the certificate that a test wants from it.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose, date_time_ymd};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;

/// How a server speaks TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tls {
    pub versions: HttpVersions,
    pub certificate: Certificate,
}

/// What it offers to speak inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersions {
    Http1,
    Http2,
    Both,
}

/// What it shows for a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// For `localhost`, 127.0.0.1 and ::1, for years.
    Good,
    /// The same, but its time is over.
    Expired,
    /// In good order, for a host elsewhere.
    OfAnotherHost,
}

/// What the server needs, and what its clients are to trust.
pub(crate) struct Secured {
    pub config: Arc<ServerConfig>,
    pub authority: String,
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("no certificate could be made")]
    Certificate(#[from] rcgen::Error),
    #[error("the certificate cannot be used")]
    Config(#[from] rustls::Error),
}

impl Tls {
    /// Both versions of HTTP, and a good certificate.
    pub const BOTH: Tls = Tls { versions: HttpVersions::Both, certificate: Certificate::Good };

    pub(crate) fn secure(self) -> Result<Secured, TlsError> {
        let mut own = CertificateParams::new(Vec::new())?;
        own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        own.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let authority = CertifiedIssuer::self_signed(own, KeyPair::generate()?)?;
        let names: &[&str] = match self.certificate {
            Certificate::Good | Certificate::Expired => &["localhost", "127.0.0.1", "::1"],
            Certificate::OfAnotherHost => &["elsewhere.example"],
        };
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names)?;
        if self.certificate == Certificate::Expired {
            params.not_after = date_time_ymd(2001, 1, 1);
            params.not_before = date_time_ymd(2000, 1, 1);
        }
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &authority)?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))?;
        let offers: &[&[u8]] = match self.versions {
            HttpVersions::Http1 => &[b"http/1.1"],
            HttpVersions::Http2 => &[b"h2"],
            HttpVersions::Both => &[b"h2", b"http/1.1"],
        };
        config.alpn_protocols = offers.iter().map(|name| name.to_vec()).collect();
        Ok(Secured { config: Arc::new(config), authority: authority.pem() })
    }
}
