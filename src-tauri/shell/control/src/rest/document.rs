//! The OpenAPI document, made from the table of operations and the types of their arguments and replies.

use utoipa::openapi::path::{OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::Type;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, Content, HttpMethod, InfoBuilder, ObjectBuilder, OpenApiBuilder, Paths, Ref, RefOr, Required,
    ResponseBuilder, ResponsesBuilder, Schema,
};
use utoipa::{IntoParams, ToSchema};

use crate::topics::{Method, Operation};

use super::refusal::ErrorBody;

type Schemas = Vec<(String, RefOr<Schema>)>;

const TOKEN: &str = "managementToken";
const JSON: &str = "application/json";

/// What goes into an operation and what comes out.
pub(super) struct Shape {
    query: Vec<Parameter>,
    body: Option<Content>,
    reply: Content,
    schemas: Schemas,
}

impl Shape {
    pub(super) fn new<R: ToSchema>() -> Self {
        let mut schemas = Schemas::new();
        let reply = content::<R>(&mut schemas);
        Shape { query: Vec::new(), body: None, reply, schemas }
    }

    pub(super) fn query<Q: IntoParams + ToSchema>(mut self) -> Self {
        Q::schemas(&mut self.schemas);
        self.query = Q::into_params(|| Some(ParameterIn::Query));
        self
    }

    pub(super) fn body<B: ToSchema>(mut self) -> Self {
        self.body = Some(content::<B>(&mut self.schemas));
        self
    }
}

/// Grows with the routes.
pub(super) struct Document {
    paths: Paths,
    schemas: Schemas,
    refused: Content,
}

impl Document {
    pub(super) fn new() -> Self {
        let mut schemas = Schemas::new();
        let refused = content::<ErrorBody>(&mut schemas);
        Document { paths: Paths::new(), schemas, refused }
    }

    pub(super) fn add(&mut self, operation: &Operation, shape: Shape) {
        let success = ResponseBuilder::new().description("done").content(JSON, shape.reply);
        let refusal = ResponseBuilder::new().description("refused").content(JSON, self.refused.clone());
        let responses =
            ResponsesBuilder::new().response(operation.status.to_string(), success).response("default", refusal);
        let mut described = OperationBuilder::new()
            .operation_id(Some(operation.name))
            .summary(Some(operation.summary))
            .responses(responses.build());
        if operation.path.contains("{id}") {
            described = described.parameter(id_parameter());
        }
        for parameter in shape.query {
            described = described.parameter(parameter);
        }
        if let Some(body) = shape.body {
            described = described.request_body(Some(RequestBodyBuilder::new().content(JSON, body).build()));
        }
        if !operation.open {
            described = described.security(SecurityRequirement::new(TOKEN, Vec::<String>::new()));
        }
        self.paths.add_path_operation(operation.path, vec![method(operation.method)], described.build());
        self.schemas.extend(shape.schemas);
    }

    /// The document as JSON text.
    pub(super) fn finish(self, version: &str) -> String {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        let components = ComponentsBuilder::new().schemas_from_iter(self.schemas).security_scheme(TOKEN, scheme);
        let info = InfoBuilder::new()
            .title("OmniRoute management")
            .description(Some("Management of a local gateway for coding agents. Loopback only."))
            .version(version);
        let document =
            OpenApiBuilder::new().info(info.build()).paths(self.paths).components(Some(components.build())).build();
        serde_json::to_string(&document).unwrap_or_default()
    }
}

/// A JSON body of type `T`, whose schema and whatever it refers to go among the components.
fn content<T: ToSchema>(schemas: &mut Schemas) -> Content {
    let name = T::name().into_owned();
    T::schemas(schemas);
    schemas.push((name.clone(), T::schema()));
    Content::new(Some(Ref::from_schema_name(name)))
}

fn id_parameter() -> Parameter {
    ParameterBuilder::new()
        .name("id")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build()
}

const fn method(method: Method) -> HttpMethod {
    match method {
        Method::Get => HttpMethod::Get,
        Method::Post => HttpMethod::Post,
        Method::Patch => HttpMethod::Patch,
        Method::Put => HttpMethod::Put,
        Method::Delete => HttpMethod::Delete,
    }
}
